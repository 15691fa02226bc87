/* random_sobol.h - Sobol's quasi-random sequences in 20,000 dimensions, of 32 and 64 bits.
 *
 * Dimensions 1 to 10 have the direction numbers that Joe and Kuo published in 2008, and
 * thus cuRAND's bits. The others have the same primitive polynomials, but first numbers of
 * our own: each dimension is a Sobol sequence, but not cuRAND's. A scrambled sequence is one
 * with a digital shift: all its values are XORed with one constant of the dimension. */
#ifndef WBCPU_RANDOM_SOBOL_H
#define WBCPU_RANDOM_SOBOL_H

#include "random_states.h"

#include <vector>

typedef unsigned curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
enum curandDirectionVectorSet_t {
    CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
    CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104
};

namespace wbcpu
{
/* Polynomials over GF(2): bit i is the coefficient of x^i. a x^n modulo p of degree s */
struct polynomial {
    unsigned p;
    int s;

    unsigned times(unsigned a, unsigned b) const
    {
        unsigned r = 0;
        for (; b; b >>= 1) {
            if (b & 1) r ^= a;
            a <<= 1;
            if (a >> s & 1) a ^= p;
        }
        return r;
    }
    unsigned power_of_x(unsigned n) const
    {
        unsigned r = 1, square = s == 1 ? 1 : 2;
        for (; n; n >>= 1) {
            if (n & 1) r = times(r, square);
            square = times(square, square);
        }
        return r;
    }
    /* The powers of x are all 2^s - 1 residues. */
    bool is_primitive() const
    {
        unsigned order = (1u << s) - 1, rest = order;
        if (power_of_x(order) != 1) return false;
        for (unsigned q = 3; rest > 1; q += 2) {
            if (q * q > rest) q = rest;
            if (rest % q) continue;
            if (order > q && power_of_x(order / q) == 1) return false;
            while (rest % q == 0)
                rest /= q;
        }
        return true;
    }
};

/* Direction vectors, made at the first use. Those of 32 bits are the upper halves. */
struct sobol_vectors {
    enum { DIMENSIONS = 20000, PUBLISHED = 10 };
    std::vector<unsigned long long> wide; /* (DIMENSIONS, 64) */
    std::vector<unsigned> narrow;         /* (DIMENSIONS, 32) */
    std::vector<unsigned long long> shifts;
    std::vector<unsigned> narrow_shifts;

    /* The first numbers: odd, number i below 2^i (i = 1, 2, ...) */
    static unsigned first_number(int dimension, int i, unsigned long long *state)
    {
        static const unsigned char published[PUBLISHED - 1][5] = {
            {1},          {1, 3},           {1, 3, 1},        {1, 1, 1},       {1, 1, 3, 3},
            {1, 3, 5, 13}, {1, 1, 5, 5, 17}, {1, 1, 5, 5, 5}, {1, 1, 7, 11, 19}};
        if (dimension < PUBLISHED) return published[dimension - 1][i - 1];
        return (unsigned)(next(state) >> 40) % (1u << i) | 1;
    }
    static unsigned long long next(unsigned long long *state) /* Knuth's MMIX */
    {
        return *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    }
    sobol_vectors() : wide(DIMENSIONS * 64), narrow(DIMENSIONS * 32)
    {
        unsigned long long state = 1;
        for (int i = 0; i < 64; i++)
            wide[(size_t)i] = 1ull << (63 - i);
        polynomial p = {3, 1};
        for (int d = 1; d < DIMENSIONS; d++, p.p += 2) {
            while (p.p >> (p.s + 1) || !p.is_primitive()) {
                p.p += 2;
                if (p.p >> (p.s + 1)) p.s++;
            }
            fill(&wide[(size_t)d * 64], p, d, &state);
        }
        for (size_t i = 0; i < narrow.size(); i++)
            narrow[i] = (unsigned)(wide[i / 32 * 64 + i % 32] >> 32);
        for (int d = 0; d < DIMENSIONS; d++) {
            shifts.push_back(next(&state));
            narrow_shifts.push_back((unsigned)(shifts.back() >> 32));
        }
    }
    static void
    fill(unsigned long long *v, polynomial p, int dimension, unsigned long long *state)
    {
        int s = p.s;
        for (int i = 0; i < 64; i++) {
            if (i < s) {
                v[i] = (unsigned long long)first_number(dimension, i + 1, state) << (63 - i);
                continue;
            }
            v[i] = v[i - s] ^ v[i - s] >> s;
            for (int k = 1; k < s; k++)
                if (p.p >> (s - k) & 1) v[i] ^= v[i - k];
        }
    }
    static sobol_vectors &all()
    {
        static sobol_vectors *only = new sobol_vectors;
        return *only;
    }
};

template <class T, bool Scrambled> struct sobol {
    T i, x, vectors[8 * sizeof(T)]; /* i: values so far */
};
}  // namespace wbcpu
typedef wbcpu::sobol<unsigned, false> curandStateSobol32, curandStateSobol32_t;
typedef wbcpu::sobol<unsigned long long, false> curandStateSobol64, curandStateSobol64_t;
typedef wbcpu::sobol<unsigned, true> curandStateScrambledSobol32,
    curandStateScrambledSobol32_t;
typedef wbcpu::sobol<unsigned long long, true> curandStateScrambledSobol64,
    curandStateScrambledSobol64_t;

/* --- device functions ----------------------------------------------------------------- */

template <class T, bool Scrambled>
WBCPU_INLINE void skipahead(unsigned long long n, wbcpu::sobol<T, Scrambled> *s)
{
    T before = s->i ^ s->i >> 1;
    s->i += (T)n;
    T changed = before ^ s->i ^ s->i >> 1; /* of the Gray code */
    for (int bit = 0; bit < (int)(8 * sizeof(T)); bit++)
        if (changed >> bit & 1) s->x ^= s->vectors[bit];
}
template <class T>
WBCPU_INLINE void curand_init(
    const T *vectors, unsigned long long offset, wbcpu::sobol<T, false> *s)
{
    s->i = s->x = 0;
    __builtin_memcpy(s->vectors, vectors, sizeof s->vectors);
    skipahead(offset, s);
}
template <class T>
WBCPU_INLINE void curand_init(
    const T *vectors, T shift, unsigned long long offset, wbcpu::sobol<T, true> *s)
{
    s->i = 0;
    s->x = shift;
    __builtin_memcpy(s->vectors, vectors, sizeof s->vectors);
    skipahead(offset, s);
}
template <class T, bool Scrambled> WBCPU_INLINE T curand(wbcpu::sobol<T, Scrambled> *s)
{
    T r = s->x;
    skipahead(1, s);
    return r;
}

/* --- host functions: tables by dimension ---------------------------------------------- */

template <class T>
inline auto curandGetDirectionVectors32(T *vectors, curandDirectionVectorSet_t)
{
    *vectors = (T)wbcpu::sobol_vectors::all().narrow.data();
    return CURAND_STATUS_SUCCESS;
}
template <class T>
inline auto curandGetDirectionVectors64(T *vectors, curandDirectionVectorSet_t)
{
    *vectors = (T)wbcpu::sobol_vectors::all().wide.data();
    return CURAND_STATUS_SUCCESS;
}
inline auto curandGetScrambleConstants32(unsigned **constants)
{
    *constants = wbcpu::sobol_vectors::all().narrow_shifts.data();
    return CURAND_STATUS_SUCCESS;
}
inline auto curandGetScrambleConstants64(unsigned long long **constants)
{
    *constants = wbcpu::sobol_vectors::all().shifts.data();
    return CURAND_STATUS_SUCCESS;
}
#endif
