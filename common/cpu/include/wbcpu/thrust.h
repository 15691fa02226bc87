/* thrust.h - Thrust's algorithms, on one thread of the host, in place of its CUDA ones. All
 * headers of include/thrust include this one. An execution policy may come first. */
#ifndef WBCPU_THRUST_H
#define WBCPU_THRUST_H

#include "radix.h"
#include "thrust_standard.h"

namespace thrust
{
#define WBCPU_NEW template <class I, if_none<I> = 0
WBCPU_NEW, class F> I for_each(I first, I last, F f)
{
    for (; first != last; ++first)
        f(*first);
    return last;
}
WBCPU_THRUST(for_each)
WBCPU_NEW, class N, class F> I for_each_n(I first, N n, F f)
{
    return thrust::for_each(first, first + (ptrdiff_t)n, f);
}
WBCPU_THRUST(for_each_n)
WBCPU_NEW> void sequence(I first, I last, iterator_value_t<I> x = 0, iterator_value_t<I> step = 1)
{
    for (; first != last; ++first, x = x + step)
        *first = x;
}
WBCPU_THRUST(sequence)
WBCPU_NEW, class F> void tabulate(I first, I last, F f)
{
    for (ptrdiff_t i = 0; first + i != last; i++)
        first[i] = f(i);
}
WBCPU_THRUST(tabulate)
WBCPU_NEW, class T, class Op = plus<>> T reduce(I first, I last, T sum, Op op = Op())
{
    for (; first != last; ++first)
        sum = op(sum, *first);
    return sum;
}
WBCPU_NEW> iterator_value_t<I> reduce(I first, I last)
{
    return thrust::reduce(first, last, iterator_value_t<I>());
}
WBCPU_THRUST(reduce)
WBCPU_NEW, class F, class T, class Op>
T transform_reduce(I first, I last, F f, T sum, Op op)
{
    for (; first != last; ++first)
        sum = op(sum, f(*first));
    return sum;
}
WBCPU_THRUST(transform_reduce)
/* In place, too: the value is read before the result is written. */
WBCPU_NEW, class O, class Op = plus<>>
O inclusive_scan(I first, I last, O out, Op op = Op())
{
    if (first == last) return out;
    iterator_value_t<I> sum = *first;
    for (*out = sum, ++out, ++first; first != last; ++first, ++out)
        *out = sum = op(sum, *first);
    return out;
}
WBCPU_THRUST(inclusive_scan)
WBCPU_NEW, class O, class T, class Op = plus<>>
O exclusive_scan(I first, I last, O out, T sum, Op op = Op())
{
    for (; first != last; ++first, ++out) {
        T next = op(sum, *first);
        *out = sum;
        sum = next;
    }
    return out;
}
WBCPU_NEW, class O> O exclusive_scan(I first, I last, O out)
{
    return thrust::exclusive_scan(first, last, out, iterator_value_t<I>());
}
WBCPU_THRUST(exclusive_scan)
WBCPU_NEW, class O, class F, class Op>
O transform_inclusive_scan(I first, I last, O out, F f, Op op)
{
    return thrust::inclusive_scan(
        make_transform_iterator(first, f), make_transform_iterator(last, f), out, op);
}
WBCPU_THRUST(transform_inclusive_scan)
WBCPU_NEW, class O, class F, class T, class Op>
O transform_exclusive_scan(I first, I last, O out, F f, T start, Op op)
{
    return thrust::exclusive_scan(
        make_transform_iterator(first, f), make_transform_iterator(last, f), out, start, op);
}
WBCPU_THRUST(transform_exclusive_scan)
WBCPU_NEW, class V, class O, class Eq = equal_to<>, class Op = plus<>>
O inclusive_scan_by_key(I key, I last, V value, O out, Eq eq = Eq(), Op op = Op())
{
    iterator_value_t<V> sum = iterator_value_t<V>();
    for (I before = key, first = key; key != last; before = key, ++key, ++value, ++out)
        *out = sum = key != first && eq(*before, *key) ? op(sum, *value)
                                                       : iterator_value_t<V>(*value);
    return out;
}
WBCPU_THRUST(inclusive_scan_by_key)
WBCPU_NEW, class V, class OK, class OV, class Eq = equal_to<>, class Op = plus<>>
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
WBCPU_THRUST(reduce_by_key)
WBCPU_NEW, class V, class OK, class OV, class Eq = equal_to<>>
pair<OK, OV> unique_by_key_copy(I key, I last, V value, OK keys, OV values, Eq eq = Eq())
{
    while (key != last) {
        iterator_value_t<I> k = *key;
        *keys = k, *values = *value, ++keys, ++values;
        for (++key, ++value; key != last && eq(k, *key); ++key, ++value) {}
    }
    return {keys, values};
}
WBCPU_THRUST(unique_by_key_copy)
WBCPU_NEW, class V, class Eq = equal_to<>>
pair<I, V> unique_by_key(I key, I last, V value, Eq eq = Eq())
{
    return thrust::unique_by_key_copy(key, last, value, key, value, eq);
}
WBCPU_THRUST(unique_by_key)
/* The standard library cannot swap what a zip iterator points to: it sorts a copy. */
WBCPU_NEW, class Less = less<>> void stable_sort(I first, I last, Less by = Less())
{
    if constexpr (std::is_lvalue_reference_v<decltype(*first)>) {
        std::stable_sort(first, last, by);
    } else {
        std::vector<iterator_value_t<I>> copy(first, last);
        std::stable_sort(copy.begin(), copy.end(), by);
        std::copy(copy.begin(), copy.end(), first);
    }
}
WBCPU_THRUST(stable_sort)
WBCPU_NEW, class Less = less<>> void sort(I first, I last, Less by = Less())
{
    if constexpr (std::is_lvalue_reference_v<decltype(*first)>)
        std::sort(first, last, by);
    else
        thrust::stable_sort(first, last, by);
}
WBCPU_THRUST(sort)
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
WBCPU_NEW, class V, class Less = less<>>
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
WBCPU_THRUST(stable_sort_by_key)
WBCPU_NEW, class V, class Less = less<>>
void sort_by_key(I first, I last, V value, Less by = Less())
{
    thrust::stable_sort_by_key(first, last, value, by);
}
WBCPU_THRUST(sort_by_key)
WBCPU_NEW, class G> void shuffle(I first, I last, G &&generator)
{
    std::shuffle(first, last, generator);
}
WBCPU_THRUST(shuffle)
WBCPU_NEW, class O, class G> O shuffle_copy(I first, I last, O out, G &&generator)
{
    O end = std::copy(first, last, out);
    std::shuffle(out, end, generator);
    return end;
}
WBCPU_THRUST(shuffle_copy)
/* with a stencil */
WBCPU_NEW, class S, class O, class F> O copy_if(I first, I last, S stencil, O out, F f)
{
    for (; first != last; ++first, ++stencil)
        if (f(*stencil)) *out = *first, ++out;
    return out;
}
WBCPU_NEW, class O, class F, class Pr> O transform_if(I first, I last, O out, F f, Pr p)
{
    for (; first != last; ++first, ++out)
        if (p(*first)) *out = f(*first);
    return out;
}
WBCPU_THRUST(transform_if)
WBCPU_NEW, class V, class O> O gather(I map, I last, V values, O out)
{
    for (; map != last; ++map, ++out)
        *out = values[(ptrdiff_t)*map];
    return out;
}
WBCPU_THRUST(gather)
WBCPU_NEW, class M, class O> void scatter(I first, I last, M map, O out)
{
    for (; first != last; ++first, ++map)
        out[(ptrdiff_t)*map] = *first;
}
WBCPU_THRUST(scatter)
#define WBCPU_BOUND(name)                                                                \
    WBCPU_NEW, class T> auto name(I first, I last, const T &x)                           \
    {                                                                                    \
        return std::name(first, last, x);                                                \
    }                                                                                    \
    WBCPU_NEW, class V, class O> O name(I first, I last, V x, V end, O out)              \
    {                                                                                    \
        for (; x != end; ++x, ++out)                                                     \
            *out = std::name(first, last, *x) - first;                                   \
        return out;                                                                      \
    }                                                                                    \
    WBCPU_THRUST(name)
WBCPU_BOUND(lower_bound)
WBCPU_BOUND(upper_bound)
#undef WBCPU_BOUND
#undef WBCPU_NEW
#undef WBCPU_THRUST
}  // namespace thrust
#endif
