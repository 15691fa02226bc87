/* thrust_standard.h - Thrust's execution policies, and the algorithms that the
 * standard library has under the same name, with the same arguments. */
#ifndef WBCPU_THRUST_STANDARD_H
#define WBCPU_THRUST_STANDARD_H

#include "thrust_iterators.h"

#include <algorithm>
#include <numeric>

namespace thrust
{
struct execution_policy {
    execution_policy on(cudaStream_t) const
    {
        return *this;
    }
    template <class A> execution_policy operator()(const A &) const
    {
        return *this;
    }
};
static const execution_policy device, host, seq;
namespace cuda
{
static const execution_policy par, par_nosync;
}
namespace omp
{
static const execution_policy par;
}
struct device_system_tag : execution_policy {
};
struct host_system_tag : execution_policy {
};

/* NAME(policy, arguments...) is NAME(arguments...), once kernels have finished. */
template <class P>
using if_policy = std::enable_if_t<std::is_base_of_v<execution_policy, std::decay_t<P>>, int>;
template <class P>
using if_none = std::enable_if_t<!std::is_base_of_v<execution_policy, std::decay_t<P>>, int>;
#define WBCPU_THRUST(name)                                                               \
    template <class P, class... A, if_policy<P> = 0> auto name(const P &, A &&...a)      \
    {                                                                                    \
        if (!wbcpu_self) cudaDeviceSynchronize();                                        \
        return thrust::name(std::forward<A>(a)...);                                              \
    }
/* Those that the standard library has with the same arguments */
#define WBCPU_STD(name)                                                                  \
    template <class P, class... A, if_none<P> = 0> auto name(P first, A... a)            \
    {                                                                                    \
        return std::name(first, a...);                                                   \
    }                                                                                    \
    WBCPU_THRUST(name)
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
