/* thrust_standard.h - Thrust's execution policies, and the algorithms that the
 * standard library has under the same name, with the same arguments. */
#ifndef WBCPU_THRUST_STANDARD_H
#define WBCPU_THRUST_STANDARD_H

#include "thrust_iterators.h"

#include <algorithm>
#include <numeric>

namespace thrust
{
/* Its functors run in the device's version, or in the host's. */
struct execution_policy {
    bool on_device = true;
    execution_policy on(cudaStream_t) const
    {
        return *this;
    }
    template <class A> execution_policy operator()(const A &) const
    {
        return *this;
    }
};
static const execution_policy device, host{false}, seq{false};
namespace cuda
{
static const execution_policy par, par_nosync;
}
namespace omp
{
static const execution_policy par{false};
}
struct device_system_tag : execution_policy {
};
struct host_system_tag : execution_policy {
    host_system_tag() : execution_policy{false} {}
};
template <class P>
constexpr bool is_policy = std::is_base_of_v<execution_policy, std::decay_t<P>>;

/* NAME(arguments...) and NAME(policy, arguments...). Without a policy, the iterators say
 * where the functors run. */
#define WBCPU_THRUST(name)                                                               \
    template <class First, class... A> auto name(First &&first, A &&...a)                \
    {                                                                                    \
        if constexpr (is_policy<First>) {                                                \
            thrust::on_device here(first.on_device);                                              \
            return algorithms::name(std::forward<A>(a)...);                              \
        } else {                                                                         \
            thrust::on_device here(are_on_device<First, A...>);                                   \
            return algorithms::name(std::forward<First>(first), std::forward<A>(a)...);  \
        }                                                                                \
    }
/* Those that the standard library has with the same arguments */
#define WBCPU_STD(name)                                                                  \
    namespace algorithms                                                                 \
    {                                                                                    \
    template <class... A> auto name(A... a)                                              \
    {                                                                                    \
        return std::name(a...);                                                          \
    }                                                                                    \
    }                                                                                    \
    WBCPU_THRUST(name)
namespace algorithms
{
template <class I, class S, class O, class F>
O copy_if(I first, I last, S stencil, O out, F f)
{
    for (; first != last; ++first, ++stencil)
        if (f(*stencil)) *out = *first, ++out;
    return out;
}
}  // namespace algorithms
WBCPU_STD(copy)
WBCPU_STD(copy_n)
WBCPU_STD(copy_if)
WBCPU_STD(fill)
WBCPU_STD(fill_n)
WBCPU_STD(generate)
WBCPU_STD(generate_n)
WBCPU_STD(transform)
WBCPU_STD(inner_product)
WBCPU_STD(unique)
WBCPU_STD(unique_copy)
WBCPU_STD(remove)
WBCPU_STD(remove_if)
WBCPU_STD(remove_copy_if)
WBCPU_STD(replace)
WBCPU_STD(replace_if)
WBCPU_STD(count)
WBCPU_STD(count_if)
WBCPU_STD(min_element)
WBCPU_STD(max_element)
WBCPU_STD(minmax_element)
WBCPU_STD(find)
WBCPU_STD(find_if)
WBCPU_STD(any_of)
WBCPU_STD(all_of)
WBCPU_STD(none_of)
WBCPU_STD(equal)
WBCPU_STD(is_sorted)
WBCPU_STD(merge)
WBCPU_STD(set_union)
WBCPU_STD(set_intersection)
WBCPU_STD(set_difference)
WBCPU_STD(partition)
WBCPU_STD(stable_partition)
WBCPU_STD(reverse)
WBCPU_STD(reverse_copy)
WBCPU_STD(adjacent_difference)
WBCPU_STD(swap_ranges)
WBCPU_STD(binary_search)

#undef WBCPU_STD /* thrust.h uses WBCPU_THRUST, too */
}  // namespace thrust
#endif
