/* thrust_iterators.h - Thrust's fancy iterators. */
#ifndef WBCPU_THRUST_ITERATORS_H
#define WBCPU_THRUST_ITERATORS_H

#include "thrust_functional.h"

namespace thrust
{
/* What an iterator of random access has, given read(), `at` and a reference type. */
template <class Self, class Value, class Reference> struct wbcpu_iterator {
    typedef std::random_access_iterator_tag iterator_category;
    typedef Value value_type;
    typedef ptrdiff_t difference_type;
    typedef void pointer;
    typedef Reference reference;

    Self &self()
    {
        return static_cast<Self &>(*this);
    }
    const Self &self() const
    {
        return static_cast<const Self &>(*this);
    }
    Reference operator*() const
    {
        return self().read(0);
    }
    Reference operator[](ptrdiff_t i) const
    {
        return self().read(i);
    }
    Self &operator+=(ptrdiff_t n)
    {
        self().move(n);
        return self();
    }
    Self &operator-=(ptrdiff_t n)
    {
        return *this += -n;
    }
    Self &operator++()
    {
        return *this += 1;
    }
    Self &operator--()
    {
        return *this += -1;
    }
    Self operator++(int)
    {
        Self before = self();
        *this += 1;
        return before;
    }
    friend Self operator+(Self a, ptrdiff_t n)
    {
        return a += n;
    }
    friend Self operator+(ptrdiff_t n, Self a)
    {
        return a += n;
    }
    friend Self operator-(Self a, ptrdiff_t n)
    {
        return a += -n;
    }
    friend ptrdiff_t operator-(const Self &a, const Self &b)
    {
        return a.distance(b);
    }
    friend bool operator==(const Self &a, const Self &b)
    {
        return a.distance(b) == 0;
    }
    friend bool operator!=(const Self &a, const Self &b)
    {
        return a.distance(b) != 0;
    }
    friend bool operator<(const Self &a, const Self &b)
    {
        return a.distance(b) < 0;
    }
};
template <class T, class... Options> /* the type of differences and the like */
struct counting_iterator : wbcpu_iterator<counting_iterator<T, Options...>, T, T> {
    T at;
    explicit counting_iterator(T x = T()) : at(x) {}
    T read(ptrdiff_t i) const
    {
        return (T)(at + i);
    }
    void move(ptrdiff_t n)
    {
        at = (T)(at + n);
    }
    ptrdiff_t distance(const counting_iterator &o) const
    {
        return (ptrdiff_t)at - (ptrdiff_t)o.at;
    }
};
template <class T, class... Options>
struct constant_iterator : wbcpu_iterator<constant_iterator<T, Options...>, T, T> {
    T value;
    ptrdiff_t at;
    explicit constant_iterator(T v, ptrdiff_t i = 0) : value(v), at(i) {}
    T read(ptrdiff_t) const
    {
        return value;
    }
    void move(ptrdiff_t n)
    {
        at += n;
    }
    ptrdiff_t distance(const constant_iterator &o) const
    {
        return at - o.at;
    }
};
template <class F, class I, class R = std::decay_t<decltype(std::declval<F>()(*std::declval<I>()))>>
struct transform_iterator : wbcpu_iterator<transform_iterator<F, I, R>, R, R> {
    I at;
    F f;
    transform_iterator(I i, F g) : at(i), f(g) {}
    R read(ptrdiff_t i) const
    {
        F g = f;
        return g(at[i]);
    }
    void move(ptrdiff_t n)
    {
        at += n;
    }
    ptrdiff_t distance(const transform_iterator &o) const
    {
        return at - o.at;
    }
};
template <class I, class M>
struct permutation_iterator
    : wbcpu_iterator<
          permutation_iterator<I, M>, typename std::iterator_traits<I>::value_type,
          typename std::iterator_traits<I>::reference> {
    I values;
    M map;
    permutation_iterator(I v, M m) : values(v), map(m) {}
    typename std::iterator_traits<I>::reference read(ptrdiff_t i) const
    {
        return values[(ptrdiff_t)map[i]];
    }
    void move(ptrdiff_t n)
    {
        map += n;
    }
    ptrdiff_t distance(const permutation_iterator &o) const
    {
        return map - o.map;
    }
};
template <class Tuple> struct zip_iterator;
template <class... I>
struct zip_iterator<tuple<I...>>
    : wbcpu_iterator<
          zip_iterator<tuple<I...>>, tuple<typename std::iterator_traits<I>::value_type...>,
          tuple<typename std::iterator_traits<I>::reference...>> {
    typedef tuple<typename std::iterator_traits<I>::reference...> reference;
    tuple<I...> at;
    zip_iterator(tuple<I...> t) : at(t) {}
    const tuple<I...> &get_iterator_tuple() const
    {
        return at;
    }
    reference read(ptrdiff_t n) const
    {
        return std::apply([=](auto... i) { return reference(i[n]...); }, at);
    }
    void move(ptrdiff_t n)
    {
        std::apply([=](auto &...i) { ((i += n), ...); }, at);
    }
    ptrdiff_t distance(const zip_iterator &o) const
    {
        return get<0>(at) - get<0>(o.at);
    }
};
struct discard_iterator : wbcpu_iterator<discard_iterator, int, discard_iterator> {
    ptrdiff_t at = 0;
    discard_iterator read(ptrdiff_t) const
    {
        return *this;
    }
    template <class T> discard_iterator &operator=(const T &)
    {
        return *this;
    }
    void move(ptrdiff_t n)
    {
        at += n;
    }
    ptrdiff_t distance(const discard_iterator &o) const
    {
        return at - o.at;
    }
};
template <class T> counting_iterator<T> make_counting_iterator(T x)
{
    return counting_iterator<T>(x);
}
template <class T> constant_iterator<T> make_constant_iterator(T x)
{
    return constant_iterator<T>(x);
}
template <class I, class F> transform_iterator<F, I> make_transform_iterator(I i, F f)
{
    return transform_iterator<F, I>(i, f);
}
template <class I, class M> permutation_iterator<I, M> make_permutation_iterator(I v, M m)
{
    return permutation_iterator<I, M>(v, m);
}
template <class... I> zip_iterator<tuple<I...>> make_zip_iterator(tuple<I...> t)
{
    return zip_iterator<tuple<I...>>(t);
}
template <class... I> zip_iterator<tuple<I...>> make_zip_iterator(I... i)
{
    return zip_iterator<tuple<I...>>(tuple<I...>(i...));
}
inline discard_iterator make_discard_iterator()
{
    return discard_iterator();
}
template <class F> auto zip_function(F f)
{
    return [f](auto &&t) { return std::apply(f, t); };
}

/* Where the data of an argument is, as a set of these */
enum { ON_HOST = 1, ON_DEVICE = 2, ANYWHERE = 4 };
template <class T, class = void> constexpr int place_of = 0; /* of a functor or a value */
template <class T>
constexpr int place_of<T, std::void_t<typename std::iterator_traits<T>::iterator_category>> =
    ON_HOST;
template <class T> constexpr int place_of<device_ptr<T>, void> = ON_DEVICE;
template <class... T> constexpr int place_of<counting_iterator<T...>, void> = ANYWHERE;
template <class... T> constexpr int place_of<constant_iterator<T...>, void> = ANYWHERE;
template <> constexpr int place_of<discard_iterator, void> = ANYWHERE;
template <class F, class I, class R>
constexpr int place_of<transform_iterator<F, I, R>, void> = place_of<I>;
template <class I, class M>
constexpr int place_of<permutation_iterator<I, M>, void> = place_of<I> | place_of<M>;
template <class... I>
constexpr int place_of<zip_iterator<tuple<I...>>, void> = (place_of<I> | ...);
template <class I>
constexpr int place_of<std::reverse_iterator<I>, void> = place_of<I>;
template <class... A>
constexpr bool are_on_device = ((place_of<std::decay_t<A>> | ...) & ON_DEVICE) ||
                               (place_of<std::decay_t<A>> | ...) == ANYWHERE;
template <class I> using iterator_value_t = typename std::iterator_traits<I>::value_type;
template <class I> struct iterator_value {
    typedef iterator_value_t<I> type;
};
template <class I> struct iterator_difference {
    typedef typename std::iterator_traits<I>::difference_type type;
};
template <class I> struct iterator_reference {
    typedef typename std::iterator_traits<I>::reference type;
};
template <class I> struct iterator_pointer {
    typedef typename std::iterator_traits<I>::pointer type;
};
using std::advance;
using std::distance;
using std::iterator_traits;
using std::next;
}  // namespace thrust
#endif
