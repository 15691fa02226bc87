/* thrust_vectors.h - Thrust's vectors: device memory can be read and written
 * by host code here, so a reference to an element is an ordinary one. */
#ifndef WBCPU_THRUST_VECTORS_H
#define WBCPU_THRUST_VECTORS_H

#include "thrust_pointers.h"

#include <complex>
#include <iostream> /* programs rely on it */
#include <stdexcept>
#include <vector>

#define THRUST_VERSION 300000
#define THRUST_MAJOR_VERSION 3
#define THRUST_MINOR_VERSION 0
#define THRUST_SUBMINOR_VERSION 0

namespace thrust
{
template <class T, class A = std::allocator<T>> class host_vector : public std::vector<T>
{
  public:
    using std::vector<T>::vector;
    host_vector() = default;
    template <class Other, class = decltype(std::declval<const Other &>().begin())>
    host_vector(const Other &v) : std::vector<T>(v.begin(), v.end())
    {
    }
    template <class Other, class = decltype(std::declval<const Other &>().begin())>
    host_vector &operator=(const Other &v)
    {
        this->assign(v.begin(), v.end());
        return *this;
    }
};

/* Not std::vector<bool>: elements are bytes. */
template <class T, class A = wbcpu_allocator<T>> class device_vector
{
    typedef std::conditional_t<std::is_same_v<T, bool>, unsigned char, T> stored;
    std::vector<stored, wbcpu_allocator<stored>> v;
    T *raw() const
    {
        return (T *)v.data();
    }

  public:
    typedef T value_type;
    typedef size_t size_type;
    typedef ptrdiff_t difference_type;
    typedef T &reference;
    typedef const T &const_reference;
    typedef device_ptr<T> pointer, iterator;
    typedef device_ptr<const T> const_pointer, const_iterator;

    device_vector() = default;
    explicit device_vector(size_t n)
    {
        on_device here;
        v.resize(n);
    }
    device_vector(size_t n, const T &value)
    {
        assign(n, value);
    }
    device_vector(std::initializer_list<T> list)
    {
        assign(list.begin(), list.end());
    }
    template <class I, class = typename std::iterator_traits<I>::value_type>
    device_vector(I first, I last)
    {
        assign(first, last);
    }
    device_vector(const device_vector &other)
    {
        assign(other.begin(), other.end());
    }
    device_vector(device_vector &&) = default;
    template <class Other, class = decltype(std::declval<const Other &>().begin())>
    device_vector(const Other &other)
    {
        assign(other.begin(), other.end());
    }
    device_vector &operator=(const device_vector &other)
    {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    device_vector &operator=(device_vector &&) = default;
    template <class Other, class = decltype(std::declval<const Other &>().begin())>
    device_vector &operator=(const Other &other)
    {
        assign(other.begin(), other.end());
        return *this;
    }
    iterator begin()
    {
        return iterator(raw());
    }
    iterator end()
    {
        return begin() + (ptrdiff_t)v.size();
    }
    const_iterator begin() const
    {
        return const_iterator(raw());
    }
    const_iterator end() const
    {
        return begin() + (ptrdiff_t)v.size();
    }
    const_iterator cbegin() const
    {
        return begin();
    }
    const_iterator cend() const
    {
        return end();
    }
    auto rbegin()
    {
        return std::make_reverse_iterator(end());
    }
    auto rend()
    {
        return std::make_reverse_iterator(begin());
    }
    pointer data()
    {
        return begin();
    }
    const_pointer data() const
    {
        return begin();
    }
    T &operator[](size_t i)
    {
        return wbcpu_element(raw() + i);
    }
    const T &operator[](size_t i) const
    {
        return wbcpu_element(raw() + i);
    }
    T &front()
    {
        return wbcpu_element(raw());
    }
    T &back()
    {
        return wbcpu_element(raw() + v.size() - 1);
    }
    size_t size() const
    {
        return v.size();
    }
    bool empty() const
    {
        return v.empty();
    }
    size_t capacity() const
    {
        return v.capacity();
    }
    void resize(size_t n, const T &value = T())
    {
        on_device here;
        v.resize(n, value);
    }
    void reserve(size_t n)
    {
        on_device here;
        v.reserve(n);
    }
    void clear()
    {
        v.clear();
    }
    void shrink_to_fit()
    {
        on_device here;
        v.shrink_to_fit();
    }
    void push_back(const T &value)
    {
        on_device here;
        v.push_back(value);
    }
    void pop_back()
    {
        v.pop_back();
    }
    void swap(device_vector &other)
    {
        v.swap(other.v);
    }
    template <class I> void assign(I first, I last)
    {
        on_device here;
        v.assign(first, last);
    }
    void assign(size_t n, const T &value)
    {
        on_device here;
        v.assign(n, value);
    }
    iterator erase(iterator first, iterator last)
    {
        on_device here;
        v.erase(v.begin() + (first - begin()), v.begin() + (last - begin()));
        return first;
    }
    template <class I> void insert(iterator at, I first, I last)
    {
        on_device here;
        v.insert(v.begin() + (at - begin()), first, last);
    }
    friend bool operator==(const device_vector &a, const device_vector &b)
    {
        on_device here;
        return a.v == b.v;
    }
    friend bool operator!=(const device_vector &a, const device_vector &b)
    {
        return !(a == b);
    }
};
template <class T> using universal_vector = device_vector<T>;
template <class T> using complex = std::complex<T>;
namespace system
{
using std::error_code;
typedef std::runtime_error system_error;
}  // namespace system
using system::system_error;
}  // namespace thrust
#endif
