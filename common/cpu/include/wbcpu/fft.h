/* fft.h - a Fourier transform of any size and of one to three dimensions, for cufft.h: by
 * the prime factors of each size, so a large prime takes time in proportion to its square.
 * Twiddle factors are computed in double, sums in the type of the data. */
#ifndef WBCPU_FFT_H
#define WBCPU_FFT_H

#include "../wbcpu.h"

#include <cmath>
#include <complex>
#include <vector>

namespace wbcpu
{
template <class T> struct line_fft {
    typedef std::complex<T> C;
    long n;
    std::vector<C> root; /* root[k] = exp(sign 2 pi i k / n) */

    line_fft(long size, int sign) : n(size), root((size_t)size)
    {
        for (long k = 0; k < n; k++) {
            double angle = sign * 6.283185307179586 * (double)k / (double)n;
            root[(size_t)k] = C((T)std::cos(angle), (T)std::sin(angle));
        }
    }
    static long factor(long m)
    {
        for (long p : {4L, 2L, 3L, 5L, 7L})
            if (m % p == 0) return p;
        long p = 11;
        while (p * p <= m && m % p)
            p += 2;
        return p * p <= m ? p : m;
    }
    /* out[0..m) = the transform of in[0], in[stride], ...; m divides n */
    void run(long m, const C *in, long stride, C *out, C *t) const
    {
        if (m == 1) {
            *out = *in;
            return;
        }
        long p = factor(m), rest = m / p, step = n / m;
        for (long r = 0; r < p; r++)
            run(rest, in + r * stride, stride * p, out + r * rest, t);
        for (long k = 0; k < rest; k++) {
            for (long r = 0; r < p; r++)
                t[r] = out[r * rest + k] * root[(size_t)(r * k * step)];
            if (p == 2) {
                out[k] = t[0] + t[1];
                out[k + rest] = t[0] - t[1];
                continue;
            }
            for (long q = 0; q < p; q++) {
                C sum = t[0];
                for (long r = 1; r < p; r++)
                    sum += t[r] * root[(size_t)(q * r % p * (n / p))];
                out[q * rest + k] = sum;
            }
        }
    }
};

/* Transforms data[size[0]][size[1]][size[2]] in place; sign: -1 forward, +1 inverse. No
 * scaling. */
template <class T> void fft(std::complex<T> *data, const long size[3], int sign)
{
    for (int axis = 0; axis < 3; axis++) {
        long n = size[axis], stride = 1, lines = size[0] * size[1] * size[2] / n;
        if (n == 1) continue;
        for (int i = axis + 1; i < 3; i++)
            stride *= size[i];
        struct task {
            std::complex<T> *data;
            long n, stride;
            line_fft<T> plan;
        } all = {data, n, stride, line_fft<T>(n, sign)};
        wbcpu_parallel(
            (int)lines,
            [](void *context, int i) {
                const task &a = *static_cast<task *>(context);
                std::complex<T> *line = a.data + i / a.stride * a.stride * a.n + i % a.stride;
                std::vector<std::complex<T>> out((size_t)a.n), t((size_t)a.n);
                a.plan.run(a.n, line, a.stride, out.data(), t.data());
                for (long k = 0; k < a.n; k++)
                    line[k * a.stride] = out[(size_t)k];
            },
            &all);
    }
}
}  // namespace wbcpu
#endif
