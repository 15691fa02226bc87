/* cub_device.h - CUB's algorithms of a whole device, on one thread of the host. The first
 * call, without temporary memory, only asks for its size: one byte. */
#ifndef WBCPU_CUB_DEVICE_H
#define WBCPU_CUB_DEVICE_H

#include "cub_block.h"
#include "thrust.h"

#include <functional>

namespace cub
{
template <class T> using CountingInputIterator = thrust::counting_iterator<T>;
template <class T, class... Options>
using ConstantInputIterator = thrust::constant_iterator<T, Options...>;
template <class V, class F, class I> using TransformInputIterator = thrust::transform_iterator<F, I>;
template <class T> struct DoubleBuffer {
    T *d_buffers[2] = {nullptr, nullptr};
    int selector = 0;
    DoubleBuffer() = default;
    DoubleBuffer(T *a, T *b) : d_buffers{a, b} {}
    T *Current()
    {
        return d_buffers[selector];
    }
    T *Alternate()
    {
        return d_buffers[selector ^ 1];
    }
};

/* work() on the stream, or the size of the temporary memory */
template <class Work>
cudaError_t wbcpu_run(void *temporary, size_t &bytes, cudaStream_t stream, Work work)
{
    if (!temporary) {
        bytes = 1;
        return cudaSuccess;
    }
    wbcpu_run_library(stream, work);
    return cudaSuccess;
}
/* The type in which CUB adds the values of iterator I to an initial value of type T: bools
 * are added as int, or as int64_t if T is int64_t. */
template <class Op, class T, class I>
using wbcpu_sum_t =
    std::decay_t<decltype(std::declval<Op>()(std::declval<T>(), std::declval<I>()[0]))>;
template <class I> using wbcpu_input_t = std::decay_t<decltype(std::declval<I>()[0])>;
/* CUB begins a reduction with a zero of the output's type, or of the input's if the output
 * iterator has none. */
template <class I, class O>
using wbcpu_zero_t = std::conditional_t<
    std::is_void_v<thrust::iterator_value_t<O>>, wbcpu_input_t<I>,
    thrust::iterator_value_t<O>>;
#define WBCPU_TEMPORARY void *temporary, size_t &bytes
#define WBCPU_STATIC template <class I, class O> static cudaError_t
#define WBCPU_RUN(...) return wbcpu_run(temporary, bytes, stream, [=] { __VA_ARGS__ })

struct DeviceReduce {
    template <class I, class O, class Op, class T>
    static cudaError_t
    Reduce(WBCPU_TEMPORARY, I in, O out, int n, Op op, T start, cudaStream_t stream = 0)
    {
        typedef wbcpu_sum_t<Op, T, I> sum_type;
        WBCPU_RUN(sum_type sum = start; for (int i = 0; i < n; i++) sum = op(sum, in[i]);
                  *out = sum;);
    }
    WBCPU_STATIC Sum(WBCPU_TEMPORARY, I in, O out, int n, cudaStream_t stream = 0)
    {
        return Reduce(
            temporary, bytes, in, out, n, std::plus<>(), wbcpu_zero_t<I, O>(), stream);
    }
    WBCPU_STATIC Max(WBCPU_TEMPORARY, I in, O out, int n, cudaStream_t stream = 0)
    {
        WBCPU_RUN(*out = *std::max_element(in, in + n););
    }
    WBCPU_STATIC Min(WBCPU_TEMPORARY, I in, O out, int n, cudaStream_t stream = 0)
    {
        WBCPU_RUN(*out = *std::min_element(in, in + n););
    }
    WBCPU_STATIC ArgMax(WBCPU_TEMPORARY, I in, O out, int n, cudaStream_t stream = 0)
    {
        WBCPU_RUN(auto i = std::max_element(in, in + n); out->key = (int)(i - in); out->value = *i;);
    }
    WBCPU_STATIC ArgMin(WBCPU_TEMPORARY, I in, O out, int n, cudaStream_t stream = 0)
    {
        WBCPU_RUN(auto i = std::min_element(in, in + n); out->key = (int)(i - in); out->value = *i;);
    }
    template <class K, class U, class V, class A, class N, class Op>
    static cudaError_t ReduceByKey(
        WBCPU_TEMPORARY, K keys, U unique, V values, A sums, N runs, Op op, int n,
        cudaStream_t stream = 0)
    {
        WBCPU_RUN(auto end = thrust::reduce_by_key(
                      keys, keys + n, values, unique, sums, thrust::equal_to<>(), op);
                  *runs = (int)(end.first - unique););
    }
};
struct DeviceSegmentedReduce {
    template <class I, class O, class B, class E>
    static cudaError_t
    Sum(WBCPU_TEMPORARY, I in, O out, int n, B begin, E end, cudaStream_t stream = 0)
    {
        typedef wbcpu_sum_t<std::plus<>, wbcpu_zero_t<I, O>, I> sum_type;
        WBCPU_RUN(for (int s = 0; s < n; s++) {
            sum_type sum = sum_type();
            for (auto i = begin[s]; i < end[s]; i++)
                sum = sum + in[i];
            out[s] = sum;
        });
    }
};
struct DeviceScan {
    template <class I, class O, class Op>
    static cudaError_t
    InclusiveScan(WBCPU_TEMPORARY, I in, O out, Op op, int n, cudaStream_t stream = 0)
    {
        WBCPU_RUN(thrust::inclusive_scan(in, in + n, out, op););
    }
    template <class I, class O, class Op, class T>
    static cudaError_t ExclusiveScan(
        WBCPU_TEMPORARY, I in, O out, Op op, T start, int n, cudaStream_t stream = 0)
    {
        WBCPU_RUN(thrust::exclusive_scan(in, in + n, out, start, op););
    }
    WBCPU_STATIC InclusiveSum(WBCPU_TEMPORARY, I in, O out, int n, cudaStream_t stream = 0)
    {
        typedef wbcpu_sum_t<std::plus<>, wbcpu_input_t<I>, I> sum_type;
        WBCPU_RUN(sum_type sum = sum_type();
                  for (int i = 0; i < n; i++) out[i] = sum = sum + in[i];);
    }
    WBCPU_STATIC ExclusiveSum(WBCPU_TEMPORARY, I in, O out, int n, cudaStream_t stream = 0)
    {
        typedef wbcpu_sum_t<std::plus<>, wbcpu_input_t<I>, I> sum_type;
        return ExclusiveScan(
            temporary, bytes, in, out, std::plus<>(), sum_type(), n, stream);
    }
};
/* All bits of the keys take part, unless [first, last) bits are given for unsigned keys. */
struct DeviceRadixSort {
    template <class K> static auto part(K key, int first, int last)
    {
        if constexpr (std::is_unsigned_v<K>)
            return (K)(key >> first & (last - first >= (int)sizeof(K) * 8 ? ~(K)0 : ((K)1 << (last - first)) - 1));
        else if constexpr (wbcpu::is_radix_key<K>())
            return wbcpu::radix_bits(key); /* NaN, too */
        else
            return key;
    }
    template <class K, class V, class Less>
    static void sort(const K *in, K *out, const V *vin, V *vout, long n, Less less)
    {
        std::vector<K> keys(in, in + n);
        std::vector<V> values;
        if (vin) values.assign(vin, vin + n);
        std::vector<long> order((size_t)n);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](long a, long b) {
            return less(keys[(size_t)a], keys[(size_t)b]);
        });
        for (long i = 0; i < n; i++) {
            out[i] = keys[(size_t)order[(size_t)i]];
            if (vin) vout[i] = values[(size_t)order[(size_t)i]];
        }
    }
#define WBCPU_SORT(name, swapped)                                                        \
    template <class K, class V>                                                          \
    static cudaError_t Sort##name(                                                       \
        WBCPU_TEMPORARY, const K *in, K *out, const V *vin, V *vout, long n,             \
        int first = 0, int last = sizeof(K) * 8, cudaStream_t stream = 0)                \
    {                                                                                    \
        WBCPU_RUN(sort(in, out, vin, vout, n, [=](const K &a, const K &b) {              \
            return swapped ? part(b, first, last) < part(a, first, last)                 \
                           : part(a, first, last) < part(b, first, last);                \
        }););                                                                            \
    }                                                                                    \
    template <class K, class V>                                                          \
    static cudaError_t Sort##name(                                                       \
        WBCPU_TEMPORARY, DoubleBuffer<K> &k, DoubleBuffer<V> &v, long n, int first = 0,  \
        int last = sizeof(K) * 8, cudaStream_t stream = 0)                               \
    {                                                                                    \
        cudaError_t e = Sort##name(                                                      \
            temporary, bytes, k.Current(), k.Alternate(), v.Current(), v.Alternate(), n, \
            first, last, stream);                                                        \
        if (temporary) k.selector ^= 1, v.selector ^= 1;                                 \
        return e;                                                                        \
    }
    WBCPU_SORT(Pairs, false)
    WBCPU_SORT(PairsDescending, true)
#undef WBCPU_SORT
#define WBCPU_SORT(name)                                                                 \
    template <class K>                                                                   \
    static cudaError_t SortKeys##name(                                                   \
        WBCPU_TEMPORARY, const K *in, K *out, long n, int first = 0,                     \
        int last = sizeof(K) * 8, cudaStream_t stream = 0)                               \
    {                                                                                    \
        return SortPairs##name(                                                          \
            temporary, bytes, in, out, (const char *)nullptr, (char *)nullptr, n, first, \
            last, stream);                                                               \
    }                                                                                    \
    template <class K>                                                                   \
    static cudaError_t SortKeys##name(                                                   \
        WBCPU_TEMPORARY, DoubleBuffer<K> &k, long n, int first = 0,                      \
        int last = sizeof(K) * 8, cudaStream_t stream = 0)                               \
    {                                                                                    \
        DoubleBuffer<char> none;                                                         \
        return SortPairs##name(temporary, bytes, k, none, n, first, last, stream);       \
    }
    WBCPU_SORT()
    WBCPU_SORT(Descending)
#undef WBCPU_SORT
};
struct DeviceSelect {
    template <class I, class O, class N, class F>
    static cudaError_t
    If(WBCPU_TEMPORARY, I in, O out, N count, int n, F f, cudaStream_t stream = 0)
    {
        WBCPU_RUN(*count = (int)(thrust::copy_if(in, in + n, out, f) - out););
    }
    template <class I, class S, class O, class N>
    static cudaError_t Flagged(
        WBCPU_TEMPORARY, I in, S flags, O out, N count, int n, cudaStream_t stream = 0)
    {
        WBCPU_RUN(*count = (int)(thrust::copy_if(in, in + n, flags, out, [](auto f) {
                            return f != 0;
                        }) - out););
    }
    template <class I, class O, class N>
    static cudaError_t
    Unique(WBCPU_TEMPORARY, I in, O out, N count, int n, cudaStream_t stream = 0)
    {
        WBCPU_RUN(*count = (int)(std::unique_copy(in, in + n, out) - out););
    }
};
struct DeviceRunLengthEncode {
    template <class I, class U, class C, class N>
    static cudaError_t Encode(
        WBCPU_TEMPORARY, I in, U unique, C counts, N runs, int n, cudaStream_t stream = 0)
    {
        return DeviceReduce::ReduceByKey(
            temporary, bytes, in, unique, thrust::make_constant_iterator(1), counts, runs,
            cub::Sum(), n, stream);
    }
};
struct DeviceHistogram {
    template <class I, class C, class L>
    static cudaError_t HistogramEven(
        WBCPU_TEMPORARY, I in, C *counts, int levels, L low, L high, int n,
        cudaStream_t stream = 0)
    {
        WBCPU_RUN(std::fill_n(counts, levels - 1, C());
                  for (int i = 0; i < n; i++) if (!(in[i] < low) && in[i] < high)
                      counts[(long)((double)(in[i] - low) * (levels - 1) / (double)(high - low))]++;);
    }
};
#undef WBCPU_TEMPORARY
#undef WBCPU_STATIC
#undef WBCPU_RUN
}  // namespace cub
#endif
