/* random_states.h - cuRAND's two generators: XORWOW (Marsaglia, "Xorshift RNGs", 2003) and
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), with
 * the seeds, sequences and offsets of cuRAND: the 32-bit outputs are the same. */
#ifndef WBCPU_RANDOM_STATES_H
#define WBCPU_RANDOM_STATES_H

#include "../cuda_runtime.h"
#include "checked.h"

/* A second normal value is kept for the next call. */
struct wbcpu_normals {
    bool kept, kept_double;
    float extra;
    double extra_double;
};
struct curandStateXORWOW : wbcpu_normals {
    unsigned d, v[5];
};
struct curandStatePhilox4_32_10 : wbcpu_normals {
    uint4 counter, output;
    uint2 key;
    unsigned used; /* of output */
};
typedef curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

/* --- XORWOW --------------------------------------------------------------------------- */

WBCPU_INLINE unsigned curand(curandStateXORWOW *s)
{
    unsigned t = s->v[0] ^ s->v[0] >> 2;
    s->v[0] = s->v[1], s->v[1] = s->v[2], s->v[2] = s->v[3], s->v[3] = s->v[4];
    s->v[4] = s->v[4] ^ s->v[4] << 4 ^ t ^ t << 1;
    s->d += 362437;
    return s->v[4] + s->d;
}

namespace wbcpu
{
/* 2^n steps of the five words of XORWOW, as a matrix over bits: column i is the image of
 * bit i. All powers up to 2^130 are made at the first use. */
struct xorwow_jumps {
    enum { BITS = 160, POWERS = 131 };
    unsigned column[POWERS][BITS][5];

    static void apply(const unsigned (*m)[5], unsigned v[5])
    {
        unsigned r[5] = {0, 0, 0, 0, 0};
        for (int i = 0; i < BITS; i++)
            if (v[i / 32] >> i % 32 & 1)
                for (int w = 0; w < 5; w++)
                    r[w] ^= m[i][w];
        __builtin_memcpy(v, r, sizeof r);
    }
    xorwow_jumps()
    {
        wbcpu_checked_table(this, sizeof *this);
        for (int i = 0; i < BITS; i++) {
            curandStateXORWOW s = {};
            s.v[i / 32] = 1u << i % 32;
            curand(&s);
            __builtin_memcpy(column[0][i], s.v, sizeof s.v);
        }
        for (int p = 1; p < POWERS; p++)
            for (int i = 0; i < BITS; i++) {
                __builtin_memcpy(column[p][i], column[p - 1][i], sizeof column[p][i]);
                apply(column[p - 1], column[p][i]);
            }
    }
    /* n * 2^shift steps */
    void jump(unsigned v[5], unsigned long long n, int shift) const
    {
        for (int bit = 0; n >> bit && bit + shift < POWERS; bit++) {
            if (n >> bit & 1) apply(column[shift + bit], v);
            if (bit == 63) break;
        }
    }
    static const xorwow_jumps &all()
    {
        static const xorwow_jumps *only = new xorwow_jumps;
        return *only;
    }
};
}  // namespace wbcpu

WBCPU_INLINE void skipahead(unsigned long long n, curandStateXORWOW *s)
{
    wbcpu::xorwow_jumps::all().jump(s->v, n, 0);
    s->d += 362437u * (unsigned)n;
}
WBCPU_INLINE void skipahead_sequence(unsigned long long n, curandStateXORWOW *s)
{
    wbcpu::xorwow_jumps::all().jump(s->v, n, 67); /* a sequence has 2^67 values */
}
WBCPU_INLINE void curand_init(
    unsigned long long seed, unsigned long long sequence, unsigned long long offset,
    curandStateXORWOW *s)
{
    unsigned t0 = 1099087573u * ((unsigned)seed ^ 0xaad26b49u);
    unsigned t1 = 2591861531u * ((unsigned)(seed >> 32) ^ 0xf7dcefddu);
    *s = curandStateXORWOW();
    s->d = 6615241 + t1 + t0;
    s->v[0] = 123456789u + t0;
    s->v[1] = 362436069u ^ t0;
    s->v[2] = 521288629u + t1;
    s->v[3] = 88675123u ^ t1;
    s->v[4] = 5783321u + t0;
    if (sequence) skipahead_sequence(sequence, s);
    if (offset) skipahead(offset, s);
}

/* --- Philox4x32-10 -------------------------------------------------------------------- */

namespace wbcpu
{
WBCPU_INLINE uint4 philox(uint4 c, uint2 k)
{
    for (int round = 0; round < 10; round++) {
        unsigned long long a = 0xD2511F53ull * c.x, b = 0xCD9E8D57ull * c.z;
        c = make_uint4(
            (unsigned)(b >> 32) ^ c.y ^ k.x, (unsigned)b, (unsigned)(a >> 32) ^ c.w ^ k.y,
            (unsigned)a);
        k.x += 0x9E3779B9u;
        k.y += 0xBB67AE85u;
    }
    return c;
}
/* The counter: x and y count blocks of four values, z and w sequences. */
WBCPU_INLINE void add_wide(unsigned &low, unsigned &high, unsigned long long n)
{
    unsigned long long sum = ((unsigned long long)high << 32 | low) + n;
    low = (unsigned)sum;
    high = (unsigned)(sum >> 32);
}
}  // namespace wbcpu
WBCPU_INLINE void skipahead(unsigned long long n, curandStatePhilox4_32_10 *s)
{
    s->used += (unsigned)(n & 3);
    n /= 4;
    if (s->used > 3) n++, s->used -= 4;
    unsigned long long before = (unsigned long long)s->counter.y << 32 | s->counter.x;
    wbcpu::add_wide(s->counter.x, s->counter.y, n);
    if (before + n < before) wbcpu::add_wide(s->counter.z, s->counter.w, 1);
    s->output = wbcpu::philox(s->counter, s->key);
}
WBCPU_INLINE void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10 *s)
{
    wbcpu::add_wide(s->counter.z, s->counter.w, n);
    s->output = wbcpu::philox(s->counter, s->key);
}
WBCPU_INLINE void curand_init(
    unsigned long long seed, unsigned long long sequence, unsigned long long offset,
    curandStatePhilox4_32_10 *s)
{
    *s = curandStatePhilox4_32_10();
    s->key = make_uint2((unsigned)seed, (unsigned)(seed >> 32));
    skipahead_sequence(sequence, s);
    skipahead(offset, s);
}
WBCPU_INLINE unsigned curand(curandStatePhilox4_32_10 *s)
{
    unsigned r = (&s->output.x)[s->used];
    if (++s->used == 4) {
        s->used = 3;
        skipahead(1, s);
    }
    return r;
}
/* The next four values */
WBCPU_INLINE uint4 curand4(curandStatePhilox4_32_10 *s)
{
    uint4 r;
    r.x = curand(s), r.y = curand(s), r.z = curand(s), r.w = curand(s);
    return r;
}

#endif
