/* cuda_std.h - cuda::std is the host compiler's std, for the headers of include/cuda/std. */
#ifndef WBCPU_CUDA_STD_H
#define WBCPU_CUDA_STD_H

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cuda
{
namespace std
{
using namespace ::std;
#if __cplusplus < 202002L
struct identity {
    template <class T> constexpr T &&operator()(T &&x) const
    {
        return ::std::forward<T>(x);
    }
};
#endif
}  // namespace std
}  // namespace cuda
#endif
