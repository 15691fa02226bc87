/* gemm_amx.h - the GEMM of gemm_rows.h on AMX, where the CPU has it: TDPBF16PS multiplies
 * a tile of 16 rows of A with 16 columns of B, 32 elements of k at a time.
 *
 *     A, in place:   16 rows of 64 bytes, lda apart
 *     B, packed:     16 units of k, each of two elements, of 16 columns
 *     sums:          2 x 2 tiles of 16 x 16 floats
 *
 * Each element of C adds groups of 32 products in ascending k. Within a group those of
 * even and of odd k have a sum each; additions are rounded like those of floats, and
 * subnormal numbers are 0. The bits depend neither on the number of columns nor on the
 * blocks. Included by gemm_bf16.cpp.
 */
#ifndef WBCPU_GEMM_AMX_H
#define WBCPU_GEMM_AMX_H
#include "gemm_rows.h"  // its buffers and store_sums

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AMX                                                                              \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,amx-tile,amx-bf16")))

namespace gemm_amx
{
using gemm_rows::buffers;
using gemm_rows::smaller;

enum { SIDE = 16, TILE_UNITS = 16, UNITS = gemm_rows::UNITS };

/* What LDTILECFG reads. Tiles 0 to 3 hold sums, 4 and 5 rows of A, 6 and 7 columns of B. */
struct alignas(64) tile_shapes {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE, SIDE};
};

/* Linux lets a process use the tiles only after it has asked. */
static bool is_available(void)
{
    unsigned eax, ebx, ecx, edx;
    const unsigned bf16 = 1u << 22, tile = 1u << 24;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
    if ((edx & (bf16 | tile)) != (bf16 | tile)) return false;
    const long REQUEST_PERMISSION = 0x1023, TILE_DATA = 18;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* Only whole tiles of A, which is read in place. */
static inline bool fits(int m, int n, int k)
{
    return gemm_rows::fits(m, n, k) && m % SIDE == 0 && k % (2 * TILE_UNITS) == 0;
}

/* sum (16 ROWS, 16 COLUMNS) += a b, for `units` of k; ROWS and COLUMNS are 1 or 2 */
template <int ROWS, int COLUMNS>
AMX static void multiply(
    int units, const uint16_t *a, size_t lda, const uint32_t *b, float *sum, size_t ld,
    bool first)
{
    const size_t row = lda * sizeof *a, sums = ld * sizeof *sum, panel = SIDE * sizeof *b;
    float *below = sum + SIDE * ld;
    if (first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sum, sums);
        if (COLUMNS == 2) _tile_loadd(1, sum + SIDE, sums);
        if (ROWS == 2) _tile_loadd(2, below, sums);
        if (ROWS == 2 && COLUMNS == 2) _tile_loadd(3, below + SIDE, sums);
    }
    for (int p = 0; p < units; p += TILE_UNITS) {
        _tile_loadd(4, a + 2 * p, row);
        _tile_loadd(6, b + p * SIDE, panel);
        _tile_dpbf16ps(0, 4, 6);
        if (COLUMNS == 2) {
            _tile_loadd(7, b + (UNITS + p) * SIDE, panel);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (ROWS == 2) {
            _tile_loadd(5, a + SIDE * lda + 2 * p, row);
            _tile_dpbf16ps(2, 5, 6);
            if (COLUMNS == 2) _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_stored(0, sum, sums);
    if (COLUMNS == 2) _tile_stored(1, sum + SIDE, sums);
    if (ROWS == 2) _tile_stored(2, below, sums);
    if (ROWS == 2 && COLUMNS == 2) _tile_stored(3, below + SIDE, sums);
}

/* a: m rows of k elements, lda apart; b: n columns, ldb apart */
AMX static void gemm(
    int m, int n, int k, float alpha, const uint16_t *a, int lda, const uint16_t *b,
    int ldb, float beta, float *c, int ldc)
{
    static const tile_shapes shapes = {};
    buffers *my = gemm_rows::thread_buffers();
    size_t ld = (size_t)(n + SIDE - 1) / SIDE * SIDE;
    _tile_loadconfig(&shapes);
    for (int p = 0; p < k; p += 2 * UNITS) {
        int units = smaller(UNITS, (k - p) / 2);
        for (int j = 0; j < n; j += SIDE)
            pack_vectors(
                my->b + (size_t)j * UNITS, SIDE, b + (size_t)j * ldb + p,
                smaller(SIDE, n - j), SIDE, 2 * units, (size_t)ldb);
        for (int j = 0; j < n; j += 2 * SIDE)
            for (int i = 0; i < m; i += 2 * SIDE) {
                bool two_rows = i + SIDE < m, two_columns = j + SIDE < n;
                auto of_tiles = two_rows ? two_columns ? multiply<2, 2> : multiply<2, 1>
                                : two_columns ? multiply<1, 2>
                                              : multiply<1, 1>;
                of_tiles(
                    units, a + (size_t)i * lda + p, (size_t)lda,
                    my->b + (size_t)j * UNITS, my->sum + i * ld + j, ld, p == 0);
            }
    }
    _tile_release();
    gemm_rows::store_sums(m, n, alpha, my->sum, ld, beta, c, (size_t)ldc);
}
}  // namespace gemm_amx
#undef AMX

#endif
