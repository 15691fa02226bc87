/* exponentials.cu - expf, exp2f, expm1f, tanhf and logf in a kernel, compared with libm's double
 * functions: 3 units in the last place, which a GPU's keep too, and special values.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../tap.h"

constexpr int N = 1 << 18, THREADS = 256, PER_THREAD = 4;
enum function { EXP, EXP2, EXPM1, TANH, LOG, FUNCTIONS };
static const char *const names[] = {"expf", "exp2f", "expm1f", "tanhf", "logf"};

template <int F> __global__ void compute(float *y, const float *x)
{
    int first = (blockIdx.x * THREADS + threadIdx.x) * PER_THREAD;
    for (int i = first; i < first + PER_THREAD; i++)
        y[i] = F == EXP     ? expf(x[i])
               : F == EXP2  ? exp2f(x[i])
               : F == EXPM1 ? expm1f(x[i])
               : F == TANH  ? tanhf(x[i])
                            : logf(x[i]);
}

static double exact(int f, double x)
{
    return f == EXP     ? exp(x)
           : f == EXP2  ? exp2(x)
           : f == EXPM1 ? expm1(x)
           : f == TANH  ? tanh(x)
                        : log(x);
}

static float h_x[N], h_y[N];
static float *x, *y;

static void run(int f)
{
    void (*const kernels[])(float *, const float *) = {
        compute<EXP>, compute<EXP2>, compute<EXPM1>, compute<TANH>, compute<LOG>};
    auto kernel = kernels[f];
    cudaMemcpy(x, h_x, sizeof h_x, cudaMemcpyHostToDevice);
    kernel<<<N / THREADS / PER_THREAD, THREADS>>>(y, x);
    cudaMemcpy(h_y, y, sizeof h_y, cudaMemcpyDeviceToHost);
}

/* Floats spread evenly over all bit patterns, and in [-8, 8] where most arguments lie. */
static void fill(void)
{
    for (int i = 0; i < N; i++) {
        uint32_t bits = (uint32_t)i * 16381u * 2u;
        memcpy(&h_x[i], &bits, sizeof bits);
        if (i % 2) h_x[i] = 16.0f * (float)i / N - 8;
    }
}

/* |y - exact| in units of the last place of the result, with those of subnormal numbers */
static double error(float y, double want)
{
    int exponent;
    frexp(want, &exponent);
    return fabs(y - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static void check(int f)
{
    double worst = 0;
    float at = 0;
    int special = 0;
    fill();
    run(f);
    for (int i = 0; i < N; i++) {
        double want = exact(f, h_x[i]);
        float rounded = (float)want;
        if (isnan(rounded) || isinf(rounded) || isinf(h_y[i])) {
            special += isnan(rounded) ? !isnan(h_y[i]) : h_y[i] != rounded;
        } else if (!(error(h_y[i], want) <= worst)) {
            worst = error(h_y[i], want), at = h_x[i];
        }
    }
    tap(worst <= 3, "%s: at most %.2f ulp, at %a", names[f], worst, at);
    tap(!special, "%s: %d wrong infinities or NaN", names[f], special);
}

static void check_special(int f)
{
    const float values[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 200, -200, 1e-40f};
    memset(h_x, 0, sizeof h_x);
    memcpy(h_x, values, sizeof values);
    run(f);
    int wrong = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        float want = (float)exact(f, values[i]);
        wrong += isnan(want) ? !isnan(h_y[i])
                             : h_y[i] != want || signbit(h_y[i]) != signbit(want);
    }
    tap(!wrong, "%s of 0, -0, infinities, NaN and large and subnormal numbers", names[f]);
}

int main()
{
    cudaMalloc(&x, sizeof h_x);
    cudaMalloc(&y, sizeof h_y);
    for (int f = 0; f < FUNCTIONS; f++)
        check(f), check_special(f);
    cudaFree(x), cudaFree(y);
    return tap_done();
}
