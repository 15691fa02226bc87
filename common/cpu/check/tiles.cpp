/* tiles.cpp - the accesses of ldmatrix and of WMMA loads and stores, as nvcc 13 generates
 * them for sm_90:
 *
 *   factors    in shared memory one ldmatrix of 32 rows of 16 bytes; elsewhere four loads
 *              of 4 bytes per lane, each of 8 rows (or columns) of 16 bytes
 *   sums       half: four accesses of 4 bytes per lane, as above; float: by rows four of
 *              8 bytes, by columns eight of 4 bytes
 *
 * This holds for 16x16 tiles of half, bfloat16 and float. In other tiles, every element
 * counts as an access of its own.
 */
#include "cluster.h"
#include "counts.h"
#include "hooks.h"

using namespace wbcpu::check;
#define PC __builtin_extract_return_addr(__builtin_return_address(0))

static void matrix_row(const void *row, const void *pc)
{
    count_as(site_of(pc, 16, false), MATRIX);
    note_access(row, 16, false, pc);
}

extern "C" void wbcpu_check_row(const void *row)
{
    if (wbcpu_self) matrix_row(row, PC);
}

extern "C" void wbcpu_tensor_multiplies(unsigned multiply_adds)
{
    tensor_multiplies(multiply_adds);
}

extern "C" void wbcpu_check_tile(
    const void *p, unsigned ld, unsigned element, unsigned rows, unsigned columns,
    bool factor, bool by_rows, bool write)
{
    const char *tile = static_cast<const char *>(p);
    size_t line = (size_t)ld * element; /* bytes from one row or column to the next */
    unsigned lane = wbcpu_lane();
    const void *pc = PC;
    if (rows * columns != 256 || rows != 16 || element == 1) {
        unsigned lines = by_rows ? rows : columns, width = rows * columns / lines;
        for (unsigned i = lane; i < rows * columns; i += 32)
            note_access(tile + i / width * line + i % width * element, element, write, pc);
        return;
    }
    if (factor && in_thread_local((uintptr_t)p)) {
        matrix_row(tile + lane % 16 * line + lane / 16 * 16, pc);
        return;
    }
    if (element == 4 && !by_rows) {
        for (unsigned i = 0; i < 8; i++) {
            unsigned row = lane / 4 + (i & 2 ? 8 : 0);
            unsigned column = lane % 4 * 2 + (i & 1) + (i & 4 ? 8 : 0);
            note_access(tile + column * line + row * 4, 4, write, pc);
        }
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        unsigned along = lane / 4 + i % 2 * 8, across = lane % 4 * 2 + i / 2 * 8;
        note_access(tile + along * line + across * element, 2 * element, write, pc);
    }
}
