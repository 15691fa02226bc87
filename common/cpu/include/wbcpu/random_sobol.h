/* random_sobol.h - Sobol's quasi-random sequences in 20,000 dimensions, of 32 and 64 bits.
 *
 * Dimensions 1 to 10 have the direction numbers that Joe and Kuo published in 2008, and
 * thus cuRAND's bits. The others have the same primitive polynomials, but initial numbers
 * of our own: each dimension is a Sobol sequence, but not cuRAND's. A scrambled sequence
 * has a digital shift: all its values are XORed with one constant of the dimension. */
#ifndef WBCPU_RANDOM_SOBOL_H
#define WBCPU_RANDOM_SOBOL_H

#include "random_states.h"

typedef unsigned curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
typedef enum curandDirectionVectorSet {
    CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
    CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104
} curandDirectionVectorSet_t;

extern "C" {
/* (20000, 64) and (20000, 32) direction vectors; (20000) shifts. Made at the first call. */
unsigned long long *wbcpu_sobol_vectors64(void);
unsigned *wbcpu_sobol_vectors32(void);
unsigned long long *wbcpu_sobol_shifts64(void);
unsigned *wbcpu_sobol_shifts32(void);
}

namespace wbcpu
{
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

#endif
