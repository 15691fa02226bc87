/* conflicts.cpp - wavefronts: how often shared memory is accessed for one request.
 *
 * Shared memory has 32 banks of 4 bytes; the word with index i is in bank i % 32. In one
 * wavefront a bank delivers one word, to any number of lanes. Counted as Nsight Compute
 * counts on an H200 (sm_90): 224 random patterns gave exactly these numbers.
 *
 *   reads     the largest number of different words in one bank; of 16 bytes per lane at
 *             least four, of 8 bytes one for each half warp that reads; half of that if
 *             lanes i and i ^ 1, or i and i ^ 2, read the same: the solutions of labs 03
 *             to 07 showed that
 *   writes    the same for each half warp (8 bytes per lane), quarter warp (16 bytes) or
 *             the whole warp, added up; two lanes that write one word need no second pass
 *   ldmatrix  the same for each of its four matrices, eight rows of 16 bytes, added up
 *   atomics   the largest number of lanes in one bank, even if they update the same word
 *
 * The conflicts of cp.async depend on when its data arrives; the GPU's counters show
 * none, so its writes count as ideal. Atomics of 8 bytes (each half warp alone) and of 2
 * bytes are a guess.
 */
#include "counts.h"

#include <algorithm>

namespace wbcpu::check
{
constexpr unsigned banks = 32;

/* The words that some lanes touch, by bank. */
struct words {
    unsigned in_bank[banks], word[banks][banks];
    uint8_t touched[banks][banks]; /* bytes of the word */
};

static void add_word(words *w, unsigned word, unsigned mask)
{
    unsigned bank = word % banks, n = w->in_bank[bank];
    for (unsigned i = 0; i < n; i++)
        if (w->word[bank][i] == word) {
            w->touched[bank][i] |= (uint8_t)mask;
            return;
        }
    w->word[bank][n] = word;
    w->touched[bank][n] = (uint8_t)mask;
    w->in_bank[bank]++;
}

static passes cost_of(const words *w)
{
    unsigned most = 0, all = 0, bytes = 0;
    for (unsigned bank = 0; bank < banks; bank++) {
        unsigned n = w->in_bank[bank];
        all += n;
        if (n > most) most = n;
        for (unsigned i = 0; i < n; i++)
            bytes += (unsigned)__builtin_popcount(w->touched[bank][i]);
    }
    return {most, (all + banks - 1) / banks, bytes};
}

/* The lanes of one phase. A misaligned access is reported elsewhere; here it counts as
 * the words that it touches. */
static passes phase(const request &r, uint32_t lanes)
{
    words w;
    for (unsigned &n : w.in_bank)
        n = 0;
    uint64_t previous = ~0ull;
    for (; lanes; lanes &= lanes - 1) {
        uint64_t offset = r.offset[__builtin_ctz(lanes)];
        if (offset == previous) continue; /* a broadcast, often */
        previous = offset;
        unsigned start = (unsigned)offset, left = r.bytes;
        while (left) {
            unsigned skip = start % 4, n = 4 - skip < left ? 4 - skip : left;
            add_word(&w, start / 4, ((1u << n) - 1) << skip);
            start += n;
            left -= n;
        }
    }
    return cost_of(&w);
}

static unsigned lanes_in_one_bank(const request &r, uint32_t lanes)
{
    unsigned in_bank[banks] = {}, most = 0;
    for (; lanes; lanes &= lanes - 1) {
        unsigned n = ++in_bank[r.offset[__builtin_ctz(lanes)] / 4 % banks];
        if (n > most) most = n;
    }
    return most;
}

static bool read_in_pairs(const request &r, unsigned apart)
{
    for (unsigned l = 0; l < 32; l++) {
        bool both = r.lanes >> l & r.lanes >> (l ^ apart) & 1;
        if (both && r.offset[l] != r.offset[l ^ apart]) return false;
    }
    return true;
}

passes count_wavefronts(const request &r, access_kind kind)
{
    unsigned per_phase = 32;
    if ((kind == WRITE || kind == MATRIX || kind == ATOMIC) && r.bytes >= 8)
        per_phase = 128 / r.bytes;
    if (kind != ATOMIC && r.offset[0] % 4 == 0 && contiguous(r)) {
        unsigned n = r.bytes > 4 ? r.bytes / 4 : 1;
        return {n, n, 32 * r.bytes};
    }
    passes sum = {};
    for (unsigned first = 0; first < 32; first += per_phase) {
        uint32_t lanes = r.lanes & (~0u >> (32 - per_phase)) << first;
        if (!lanes) continue;
        passes p = phase(r, lanes);
        sum.count += kind == ATOMIC ? lanes_in_one_bank(r, lanes) : p.count;
        sum.ideal += p.ideal;
        sum.bytes += p.bytes;
    }
    if (kind == ASYNC) sum.count = sum.ideal;
    if (kind == READ && r.bytes >= 8) {
        bool pairs = read_in_pairs(r, 1) || read_in_pairs(r, 2);
        unsigned halves = !!(r.lanes & 0xffff) + !!(r.lanes >> 16);
        unsigned least = r.bytes == 16 ? 4 : halves;
        if (pairs) least = (least + 1) / 2;
        sum.ideal = std::max(sum.ideal, least);
        sum.count = std::max(sum.count, least);
    }
    return sum;
}
}  // namespace wbcpu::check
