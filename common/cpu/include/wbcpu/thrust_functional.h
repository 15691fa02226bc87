/* thrust_functional.h - Thrust's tuples, functors and generators of random numbers. */
#ifndef WBCPU_THRUST_FUNCTIONAL_H
#define WBCPU_THRUST_FUNCTIONAL_H

#include "thrust_vectors.h"

#include <functional>
#include <random>
#include <tuple>

namespace thrust
{
using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::swap;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

using std::bit_and;
using std::bit_or;
using std::bit_xor;
using std::divides;
using std::equal_to;
using std::greater;
using std::greater_equal;
using std::less;
using std::less_equal;
using std::logical_and;
using std::logical_not;
using std::logical_or;
using std::minus;
using std::modulus;
using std::multiplies;
using std::negate;
using std::not_equal_to;
using std::plus;
template <class T = void> struct maximum {
    T operator()(const T &a, const T &b) const
    {
        return a < b ? b : a;
    }
};
template <> struct maximum<void> {
    template <class A> A operator()(const A &a, const A &b) const
    {
        return a < b ? b : a;
    }
};
template <class T = void> struct minimum {
    T operator()(const T &a, const T &b) const
    {
        return b < a ? b : a;
    }
};
template <> struct minimum<void> {
    template <class A> A operator()(const A &a, const A &b) const
    {
        return b < a ? b : a;
    }
};
template <class T = void> struct identity {
    template <class A> const A &operator()(const A &a) const
    {
        return a;
    }
};
template <class T = void> struct square {
    template <class A> A operator()(const A &a) const
    {
        return a * a;
    }
};
template <class A, class B> struct unary_function {
    typedef A argument_type;
    typedef B result_type;
};
template <class A, class B, class C> struct binary_function {
    typedef A first_argument_type;
    typedef B second_argument_type;
    typedef C result_type;
};
namespace random
{
typedef std::minstd_rand default_random_engine, minstd_rand;
typedef std::minstd_rand0 minstd_rand0;
typedef std::ranlux24_base ranlux24_base;
using std::normal_distribution;
using std::uniform_int_distribution;
using std::uniform_real_distribution;
namespace experimental
{
using std::normal_distribution;
}
}  // namespace random
using namespace random;

}  // namespace thrust
#endif
