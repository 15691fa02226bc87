/* radix.h - stable sorts of keys that are numbers, from the lowest byte to the highest: in the
 * order of std::stable_sort. */
#ifndef WBCPU_RADIX_H
#define WBCPU_RADIX_H

#include <functional>
#include <stdint.h>
#include <string.h>
#include <type_traits>
#include <vector>

namespace wbcpu
{
template <class K> constexpr bool is_radix_key()
{
    return (std::is_integral_v<K> && !std::is_same_v<K, bool>) ||
           std::is_same_v<K, float> || std::is_same_v<K, double>;
}
/* The key as an unsigned number of the same order; -0 and 0 are equal. */
template <class K> inline uint64_t radix_bits(K key)
{
    constexpr int bits = 8 * (int)sizeof(K);
    constexpr uint64_t top = 1ull << (bits - 1), all = top | (top - 1);
    if constexpr (std::is_integral_v<K>) {
        return ((uint64_t)key & all) ^ (std::is_signed_v<K> ? top : 0);
    } else {
        uint64_t word = 0;
        if (key == 0) key = 0;
        memcpy(&word, &key, sizeof key);
        return word & top ? ~word & all : word | top;
    }
}
/* order[i]: the index of the i-th key. down: from the highest to the lowest */
template <class K> std::vector<uint32_t> radix_order(const K *keys, size_t n, bool down)
{
    struct item {
        uint64_t key;
        uint32_t index;
    };
    std::vector<item> now(n), next(n);
    for (size_t i = 0; i < n; i++)
        now[i] = {down ? ~radix_bits(keys[i]) : radix_bits(keys[i]), (uint32_t)i};
    for (int shift = 0; shift < 8 * (int)sizeof(K); shift += 8) {
        size_t first[257] = {0};
        for (const item &x : now)
            first[(x.key >> shift & 255) + 1]++;
        bool sorted = false;
        for (int d = 0; d < 256; d++)
            sorted |= first[d + 1] == n, first[d + 1] += first[d];
        if (sorted) continue; /* all keys have the same byte */
        for (const item &x : now)
            next[first[x.key >> shift & 255]++] = x;
        now.swap(next);
    }
    std::vector<uint32_t> order(n);
    for (size_t i = 0; i < n; i++)
        order[i] = now[i].index;
    return order;
}
}  // namespace wbcpu

#endif
