/* thrust.h - Thrust's algorithms, on one thread of the host, in place of its CUDA ones. All
 * headers of include/thrust include this one. */
#ifndef WBCPU_THRUST_H
#define WBCPU_THRUST_H

#include "radix.h"
#include "thrust_standard.h"

namespace thrust::algorithms
{
template <class I, class F> I for_each(I first, I last, F f)
{
    for (; first != last; ++first)
        f(*first);
    return last;
}
template <class I, class N, class F> I for_each_n(I first, N n, F f)
{
    return algorithms::for_each(first, first + (ptrdiff_t)n, f);
}
template <class I> void sequence(I first, I last, iterator_value_t<I> x = 0, iterator_value_t<I> step = 1)
{
    for (; first != last; ++first, x = x + step)
        *first = x;
}
template <class I, class F> void tabulate(I first, I last, F f)
{
    for (ptrdiff_t i = 0; first + i != last; i++)
        first[i] = f(i);
}
template <class I, class T, class Op = plus<>> T reduce(I first, I last, T sum, Op op = Op())
{
    for (; first != last; ++first)
        sum = op(sum, *first);
    return sum;
}
template <class I> iterator_value_t<I> reduce(I first, I last)
{
    return algorithms::reduce(first, last, iterator_value_t<I>());
}
template <class I, class F, class T, class Op>
T transform_reduce(I first, I last, F f, T sum, Op op)
{
    for (; first != last; ++first)
        sum = op(sum, f(*first));
    return sum;
}
/* In place, too: the value is read before the result is written. */
template <class I, class O, class Op = plus<>>
O inclusive_scan(I first, I last, O out, Op op = Op())
{
    if (first == last) return out;
    iterator_value_t<I> sum = *first;
    for (*out = sum, ++out, ++first; first != last; ++first, ++out)
        *out = sum = op(sum, *first);
    return out;
}
template <class I, class O, class T, class Op = plus<>>
O exclusive_scan(I first, I last, O out, T sum, Op op = Op())
{
    for (; first != last; ++first, ++out) {
        T next = op(sum, *first);
        *out = sum;
        sum = next;
    }
    return out;
}
template <class I, class O> O exclusive_scan(I first, I last, O out)
{
    return algorithms::exclusive_scan(first, last, out, iterator_value_t<I>());
}
template <class I, class O, class F, class Op>
O transform_inclusive_scan(I first, I last, O out, F f, Op op)
{
    return algorithms::inclusive_scan(
        make_transform_iterator(first, f), make_transform_iterator(last, f), out, op);
}
template <class I, class O, class F, class T, class Op>
O transform_exclusive_scan(I first, I last, O out, F f, T start, Op op)
{
    return algorithms::exclusive_scan(
        make_transform_iterator(first, f), make_transform_iterator(last, f), out, start, op);
}
template <class I, class V, class O, class Eq = equal_to<>, class Op = plus<>>
O inclusive_scan_by_key(I key, I last, V value, O out, Eq eq = Eq(), Op op = Op())
{
    iterator_value_t<V> sum = iterator_value_t<V>();
    for (I before = key, first = key; key != last; before = key, ++key, ++value, ++out)
        *out = sum = key != first && eq(*before, *key) ? op(sum, *value)
                                                       : iterator_value_t<V>(*value);
    return out;
}
template <class I, class V, class OK, class OV, class Eq = equal_to<>, class Op = plus<>>
pair<OK, OV>
reduce_by_key(I key, I last, V value, OK keys, OV sums, Eq eq = Eq(), Op op = Op())
{
    while (key != last) {
        iterator_value_t<I> k = *key;
        iterator_value_t<V> sum = *value;
        for (++key, ++value; key != last && eq(k, *key); ++key, ++value)
            sum = op(sum, *value);
        *keys = k, ++keys;
        *sums = sum, ++sums;
    }
    return {keys, sums};
}
template <class I, class V, class OK, class OV, class Eq = equal_to<>>
pair<OK, OV> unique_by_key_copy(I key, I last, V value, OK keys, OV values, Eq eq = Eq())
{
    while (key != last) {
        iterator_value_t<I> k = *key;
        *keys = k, *values = *value, ++keys, ++values;
        for (++key, ++value; key != last && eq(k, *key); ++key, ++value) {}
    }
    return {keys, values};
}
template <class I, class V, class Eq = equal_to<>>
pair<I, V> unique_by_key(I key, I last, V value, Eq eq = Eq())
{
    return algorithms::unique_by_key_copy(key, last, value, key, value, eq);
}
/* Keys that are numbers are sorted by their bytes. */
template <class K, class Less>
constexpr bool sorts_up = std::is_same_v<Less, less<>> || std::is_same_v<Less, less<K>>;
template <class K, class Less>
constexpr bool sorts_down =
    std::is_same_v<Less, greater<>> || std::is_same_v<Less, greater<K>>;
template <class K, class Less>
std::vector<uint32_t> order_of(const std::vector<K> &keys, Less by)
{
    if constexpr (
        wbcpu::is_radix_key<K>() && (sorts_up<K, Less> || sorts_down<K, Less>))
        return wbcpu::radix_order(keys.data(), keys.size(), sorts_down<K, Less>);
    std::vector<uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
        return by(keys[a], keys[b]);
    });
    return order;
}
/* With NaN, < is not a strict weak order, and std::sort can leave the array. The
 * standard library cannot swap what a zip iterator points to: it sorts a copy. */
template <class I, class Less = less<>> void stable_sort(I first, I last, Less by = Less())
{
    using K = iterator_value_t<I>;
    if constexpr (
        std::is_lvalue_reference_v<decltype(*first)> &&
        !(wbcpu::is_radix_key<K>() && std::is_floating_point_v<K>)) {
        std::stable_sort(first, last, by);
    } else {
        std::vector<K> copy(first, last);
        for (uint32_t i : order_of(copy, by))
            *first = copy[i], ++first;
    }
}
template <class I, class Less = less<>> void sort(I first, I last, Less by = Less())
{
    using K = iterator_value_t<I>;
    if constexpr (
        std::is_lvalue_reference_v<decltype(*first)> && std::is_integral_v<K> &&
        (sorts_up<K, Less> || sorts_down<K, Less>))
        std::sort(first, last, by);
    else
        algorithms::stable_sort(first, last, by);
}
template <class I, class V, class Less = less<>>
void stable_sort_by_key(I first, I last, V value, Less by = Less())
{
    std::vector<iterator_value_t<I>> keys(first, last);
    std::vector<iterator_value_t<V>> values(value, value + (last - first));
    const std::vector<uint32_t> order = order_of(keys, by);
    for (size_t i = 0; i < order.size(); i++) {
        first[(ptrdiff_t)i] = keys[order[i]];
        value[(ptrdiff_t)i] = values[order[i]];
    }
}
template <class I, class V, class Less = less<>>
void sort_by_key(I first, I last, V value, Less by = Less())
{
    algorithms::stable_sort_by_key(first, last, value, by);
}
template <class I, class G> void shuffle(I first, I last, G &&generator)
{
    std::shuffle(first, last, generator);
}
template <class I, class O, class G> O shuffle_copy(I first, I last, O out, G &&generator)
{
    O end = std::copy(first, last, out);
    std::shuffle(out, end, generator);
    return end;
}
template <class I, class O, class F, class Pr> O transform_if(I first, I last, O out, F f, Pr p)
{
    for (; first != last; ++first, ++out)
        if (p(*first)) *out = f(*first);
    return out;
}
template <class I, class V, class O> O gather(I map, I last, V values, O out)
{
    for (; map != last; ++map, ++out)
        *out = values[(ptrdiff_t)*map];
    return out;
}
template <class I, class M, class O> void scatter(I first, I last, M map, O out)
{
    for (; first != last; ++first, ++map)
        out[(ptrdiff_t)*map] = *first;
}
#define WBCPU_BOUND(name)                                                                \
    template <class I, class T> auto name(I first, I last, const T &x)                           \
    {                                                                                    \
        return std::name(first, last, x);                                                \
    }                                                                                    \
    template <class I, class V, class O> O name(I first, I last, V x, V end, O out)              \
    {                                                                                    \
        for (; x != end; ++x, ++out)                                                     \
            *out = std::name(first, last, *x) - first;                                   \
        return out;                                                                      \
    }
WBCPU_BOUND(lower_bound)
WBCPU_BOUND(upper_bound)
#undef WBCPU_BOUND
}  // namespace thrust::algorithms
namespace thrust
{
WBCPU_THRUST(for_each)
WBCPU_THRUST(for_each_n)
WBCPU_THRUST(sequence)
WBCPU_THRUST(tabulate)
WBCPU_THRUST(reduce)
WBCPU_THRUST(transform_reduce)
WBCPU_THRUST(inclusive_scan)
WBCPU_THRUST(exclusive_scan)
WBCPU_THRUST(transform_inclusive_scan)
WBCPU_THRUST(transform_exclusive_scan)
WBCPU_THRUST(inclusive_scan_by_key)
WBCPU_THRUST(reduce_by_key)
WBCPU_THRUST(unique_by_key_copy)
WBCPU_THRUST(unique_by_key)
WBCPU_THRUST(stable_sort)
WBCPU_THRUST(sort)
WBCPU_THRUST(stable_sort_by_key)
WBCPU_THRUST(sort_by_key)
WBCPU_THRUST(shuffle)
WBCPU_THRUST(shuffle_copy)
WBCPU_THRUST(transform_if)
WBCPU_THRUST(gather)
WBCPU_THRUST(scatter)
WBCPU_THRUST(lower_bound)
WBCPU_THRUST(upper_bound)
#undef WBCPU_THRUST
}  // namespace thrust
#endif
