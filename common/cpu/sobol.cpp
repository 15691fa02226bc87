/* sobol.cpp - the tables of wbcpu/random_sobol.h. */
#include "include/wbcpu/random_sobol.h"

#include <vector>

namespace wbcpu
{
/* A polynomial p over GF(2) of degree s: bit i is the coefficient of x^i. Products and
 * powers are modulo p. */
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
        for (int d = 1; d < DIMENSIONS; p.p += 2) {
            if (p.p >> (p.s + 1)) p.s++;
            if (!p.is_primitive()) continue;
            fill(&wide[(size_t)d * 64], p, d, &state);
            d++;
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
};

static sobol_vectors *all()
{
    static sobol_vectors *only = new sobol_vectors;
    return only;
}
}  // namespace wbcpu

unsigned long long *wbcpu_sobol_vectors64(void)
{
    return wbcpu::all()->wide.data();
}
unsigned *wbcpu_sobol_vectors32(void)
{
    return wbcpu::all()->narrow.data();
}
unsigned long long *wbcpu_sobol_shifts64(void)
{
    return wbcpu::all()->shifts.data();
}
unsigned *wbcpu_sobol_shifts32(void)
{
    return wbcpu::all()->narrow_shifts.data();
}
