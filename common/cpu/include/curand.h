/* curand.h - cuRAND's host API: arrays of random numbers.
 *
 * Value i is value i / 4096 of sequence i % 4096, as cuRAND documents it for XORWOW; other
 * pseudo-random generators run on Philox4x32-10, and their bits are not cuRAND's. A
 * quasi-random generator of D dimensions fills the first n / D values from dimension 1,
 * the next n / D from dimension 2, and so on (wbcpu/random_sobol.h). */
#ifndef WBCPU_CURAND_H
#define WBCPU_CURAND_H
#define CURAND_H_ /* helper_cuda.h asks for it */

#include "wbcpu/random_values.h"

#include <new>
#include <vector>

#define CURAND_VERSION 10400
typedef enum curandStatus {
    CURAND_STATUS_SUCCESS = 0,
    CURAND_STATUS_VERSION_MISMATCH = 100,
    CURAND_STATUS_NOT_INITIALIZED = 101,
    CURAND_STATUS_ALLOCATION_FAILED = 102,
    CURAND_STATUS_TYPE_ERROR = 103,
    CURAND_STATUS_OUT_OF_RANGE = 104,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
    CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
    CURAND_STATUS_LAUNCH_FAILURE = 201,
    CURAND_STATUS_PREEXISTING_FAILURE = 202,
    CURAND_STATUS_INITIALIZATION_FAILED = 203,
    CURAND_STATUS_ARCH_MISMATCH = 204,
    CURAND_STATUS_INTERNAL_ERROR = 999
} curandStatus_t;
typedef enum curandRngType {
    CURAND_RNG_TEST = 0,
    CURAND_RNG_PSEUDO_DEFAULT = 100,
    CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121,
    CURAND_RNG_PSEUDO_MTGP32 = 141,
    CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
    CURAND_RNG_QUASI_DEFAULT = 200,
    CURAND_RNG_QUASI_SOBOL32 = 201,
    CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
    CURAND_RNG_QUASI_SOBOL64 = 203,
    CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
} curandRngType_t;
typedef enum curandOrdering {
    CURAND_ORDERING_PSEUDO_BEST = 100,
    CURAND_ORDERING_PSEUDO_DEFAULT = 101,
    CURAND_ORDERING_PSEUDO_SEEDED = 102,
    CURAND_ORDERING_PSEUDO_LEGACY = 103,
    CURAND_ORDERING_QUASI_DEFAULT = 201
} curandOrdering_t;

struct curandGenerator_st {
    enum { SEQUENCES = 4096 };
    curandRngType_t type;
    unsigned long long seed = 0, offset = 0, drawn = 0; /* drawn: values so far */
    unsigned dimensions = 1;
    cudaStream_t stream = nullptr;
    std::vector<curandStateXORWOW> xorwow; /* empty until the first value */
    std::vector<curandStatePhilox4_32_10> philox;

    bool is_quasi() const
    {
        return type >= CURAND_RNG_QUASI_DEFAULT;
    }
    bool is_64_bits() const
    {
        return type >= CURAND_RNG_QUASI_SOBOL64;
    }
    void restart()
    {
        drawn = 0;
        xorwow.clear();
        philox.clear();
    }
    template <class T, class Next> void fill(T *out, size_t n, const Next &next)
    {
        if (is_64_bits())
            fill_quasi(out, n, next, wbcpu_sobol_vectors64(), wbcpu_sobol_shifts64());
        else if (is_quasi())
            fill_quasi(out, n, next, wbcpu_sobol_vectors32(), wbcpu_sobol_shifts32());
        else if (type == CURAND_RNG_PSEUDO_DEFAULT || type == CURAND_RNG_PSEUDO_XORWOW)
            fill_pseudo(out, n, next, xorwow);
        else
            fill_pseudo(out, n, next, philox);
    }

  private:
    template <class T, class Next, class S>
    void fill_pseudo(T *out, size_t n, const Next &next, std::vector<S> &states)
    {
        if (states.empty()) {
            S first;
            curand_init(seed, 0, offset / SEQUENCES, &first);
            for (int i = 0; i < SEQUENCES; i++) {
                states.push_back(first);
                skipahead_sequence(1, &first);
            }
            drawn = offset % SEQUENCES;
        }
        for (size_t i = 0; i < n; i++, drawn++)
            out[i] = next(&states[drawn % SEQUENCES]);
    }
    template <class T, class Next, class Word>
    void fill_quasi(T *out, size_t n, const Next &next, const Word *vectors, const Word *shifts)
    {
        bool scrambled = type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 ||
                         type == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
        size_t each = n / dimensions;
        for (size_t d = 0; d < dimensions; d++) {
            wbcpu::sobol<Word, true> s;
            curand_init(
                vectors + d * 8 * sizeof(Word), scrambled ? shifts[d] : 0, offset + drawn, &s);
            for (size_t i = 0; i < each; i++)
                *out++ = next(&s);
        }
        drawn += each;
    }
};
typedef curandGenerator_st *curandGenerator_t;

#define WBCPU_CALL static inline curandStatus_t
WBCPU_CALL curandCreateGenerator(curandGenerator_t *g, curandRngType_t type)
{
    if (type == CURAND_RNG_TEST || type > CURAND_RNG_QUASI_SCRAMBLED_SOBOL64)
        return CURAND_STATUS_TYPE_ERROR;
    cudaSetDevice(0); /* makes a context */
    *g = new curandGenerator_st();
    (*g)->type = type;
    return CURAND_STATUS_SUCCESS;
}
/* Writes to host memory */
WBCPU_CALL curandCreateGeneratorHost(curandGenerator_t *g, curandRngType_t type)
{
    return curandCreateGenerator(g, type);
}
WBCPU_CALL curandDestroyGenerator(curandGenerator_t g)
{
    cudaDeviceSynchronize();
    delete g;
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandGetVersion(int *version)
{
    *version = CURAND_VERSION;
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandSetStream(curandGenerator_t g, cudaStream_t stream)
{
    g->stream = stream;
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandSetPseudoRandomGeneratorSeed(curandGenerator_t g, unsigned long long seed)
{
    if (g->is_quasi()) return CURAND_STATUS_TYPE_ERROR;
    g->seed = seed;
    g->restart();
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandSetGeneratorOffset(curandGenerator_t g, unsigned long long offset)
{
    g->offset = offset;
    g->restart();
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandSetQuasiRandomGeneratorDimensions(curandGenerator_t g, unsigned dimensions)
{
    if (!g->is_quasi()) return CURAND_STATUS_TYPE_ERROR;
    if (dimensions < 1 || dimensions > 20000) return CURAND_STATUS_OUT_OF_RANGE;
    g->dimensions = dimensions;
    g->restart();
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL
curandGetDirectionVectors32(curandDirectionVectors32_t **vectors, curandDirectionVectorSet_t)
{
    *vectors = (curandDirectionVectors32_t *)wbcpu_sobol_vectors32();
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL
curandGetDirectionVectors64(curandDirectionVectors64_t **vectors, curandDirectionVectorSet_t)
{
    *vectors = (curandDirectionVectors64_t *)wbcpu_sobol_vectors64();
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandGetScrambleConstants32(unsigned **constants)
{
    *constants = wbcpu_sobol_shifts32();
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandGetScrambleConstants64(unsigned long long **constants)
{
    *constants = wbcpu_sobol_shifts64();
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandSetGeneratorOrdering(curandGenerator_t, curandOrdering_t)
{
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandGenerateSeeds(curandGenerator_t)
{
    return CURAND_STATUS_SUCCESS;
}
template <class T, class Next>
static inline curandStatus_t
wbcpu_generate(curandGenerator_t g, T *out, size_t n, const Next &next)
{
    if (!g) return CURAND_STATUS_NOT_INITIALIZED;
    if (n % g->dimensions) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    wbcpu_run_library(g->stream, [=] { g->fill(out, n, next); });
    return CURAND_STATUS_SUCCESS;
}
WBCPU_CALL curandGenerate(curandGenerator_t g, unsigned *out, size_t n)
{
    if (g && g->is_64_bits()) return CURAND_STATUS_TYPE_ERROR;
    return wbcpu_generate(g, out, n, [](auto *s) { return (unsigned)curand(s); });
}
WBCPU_CALL curandGenerateLongLong(curandGenerator_t g, unsigned long long *out, size_t n)
{
    if (g && !g->is_64_bits()) return CURAND_STATUS_TYPE_ERROR;
    return wbcpu_generate(
        g, out, n, [](auto *s) { return (unsigned long long)curand(s); });
}
WBCPU_CALL curandGenerateUniform(curandGenerator_t g, float *out, size_t n)
{
    return wbcpu_generate(g, out, n, [](auto *s) { return curand_uniform(s); });
}
WBCPU_CALL curandGenerateUniformDouble(curandGenerator_t g, double *out, size_t n)
{
    return wbcpu_generate(g, out, n, [](auto *s) { return curand_uniform_double(s); });
}
WBCPU_CALL
curandGenerateNormal(curandGenerator_t g, float *out, size_t n, float mean, float deviation)
{
    if (g && !g->is_quasi() && n % 2) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    return wbcpu_generate(
        g, out, n, [=](auto *s) { return mean + deviation * curand_normal(s); });
}
WBCPU_CALL curandGenerateNormalDouble(
    curandGenerator_t g, double *out, size_t n, double mean, double deviation)
{
    if (g && !g->is_quasi() && n % 2) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    return wbcpu_generate(
        g, out, n, [=](auto *s) { return mean + deviation * curand_normal_double(s); });
}
WBCPU_CALL curandGenerateLogNormal(
    curandGenerator_t g, float *out, size_t n, float mean, float deviation)
{
    if (g && !g->is_quasi() && n % 2) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    return wbcpu_generate(
        g, out, n, [=](auto *s) { return curand_log_normal(s, mean, deviation); });
}
WBCPU_CALL
curandGeneratePoisson(curandGenerator_t g, unsigned *out, size_t n, double lambda)
{
    return wbcpu_generate(g, out, n, [=](auto *s) { return curand_poisson(s, lambda); });
}
#undef WBCPU_CALL

#endif
