/* thrust_vectors.h - Thrust's pointers and vectors: device memory can be read and written
 * by host code here, so a reference to an element is an ordinary one. */
#ifndef WBCPU_THRUST_VECTORS_H
#define WBCPU_THRUST_VECTORS_H

#include "../cuda_runtime.h"

#include <complex>
#include <iterator>
#include <new>
#include <stdexcept>
#include <vector>

#define THRUST_VERSION 300000
#define THRUST_MAJOR_VERSION 3
#define THRUST_MINOR_VERSION 0
#define THRUST_SUBMINOR_VERSION 0

namespace thrust
{
template <class T> class device_ptr
{
    T *p = nullptr;

  public:
    typedef std::random_access_iterator_tag iterator_category;
    typedef std::remove_cv_t<T> value_type;
    typedef ptrdiff_t difference_type;
    typedef device_ptr pointer;
    typedef T &reference;
    typedef T element_type;

    device_ptr() = default;
    device_ptr(std::nullptr_t) {}
    explicit device_ptr(T *raw) : p(raw) {}
    template <class U, class = std::enable_if_t<std::is_convertible_v<U *, T *>>>
    device_ptr(const device_ptr<U> &other) : p(other.get())
    {
    }
    T *get() const
    {
        return p;
    }
    T &operator*() const
    {
        return *p;
    }
    T *operator->() const
    {
        return p;
    }
    T &operator[](ptrdiff_t i) const
    {
        return p[i];
    }
    explicit operator bool() const
    {
        return p != nullptr;
    }
    device_ptr &operator+=(ptrdiff_t n)
    {
        p += n;
        return *this;
    }
    device_ptr &operator-=(ptrdiff_t n)
    {
        p -= n;
        return *this;
    }
    device_ptr &operator++()
    {
        return *this += 1;
    }
    device_ptr &operator--()
    {
        return *this -= 1;
    }
    device_ptr operator++(int)
    {
        return device_ptr(p++);
    }
    device_ptr operator--(int)
    {
        return device_ptr(p--);
    }
    friend device_ptr operator+(device_ptr a, ptrdiff_t n)
    {
        return device_ptr(a.p + n);
    }
    friend device_ptr operator+(ptrdiff_t n, device_ptr a)
    {
        return device_ptr(a.p + n);
    }
    friend device_ptr operator-(device_ptr a, ptrdiff_t n)
    {
        return device_ptr(a.p - n);
    }
    template <class U> ptrdiff_t operator-(const device_ptr<U> &other) const
    {
        return p - other.get();
    }
#define WBCPU_COMPARE(op)                                                                \
    template <class U> bool operator op(const device_ptr<U> &other) const                \
    {                                                                                    \
        return p op other.get();                                                         \
    }
    WBCPU_COMPARE(==)
    WBCPU_COMPARE(!=)
    WBCPU_COMPARE(<)
    WBCPU_COMPARE(<=)
    WBCPU_COMPARE(>)
    WBCPU_COMPARE(>=)
#undef WBCPU_COMPARE
};
template <class T> device_ptr<T> device_pointer_cast(T *p)
{
    return device_ptr<T>(p);
}
template <class T> device_ptr<T> device_pointer_cast(device_ptr<T> p)
{
    return p;
}
template <class T> T *raw_pointer_cast(device_ptr<T> p)
{
    return p.get();
}
template <class T> T *raw_pointer_cast(T *p)
{
    return p;
}
template <class T> T &raw_reference_cast(T &x)
{
    return x;
}
template <class T> using device_reference = T &;

template <class T> device_ptr<T> device_malloc(size_t n)
{
    T *p;
    if (cudaMalloc(&p, n * sizeof(T))) throw std::bad_alloc();
    return device_ptr<T>(p);
}
template <class T> void device_free(device_ptr<T> p)
{
    cudaFree((void *)p.get());
}

template <class T> struct wbcpu_allocator { /* of device memory, for std::vector */
    typedef T value_type;
    wbcpu_allocator() = default;
    template <class U> wbcpu_allocator(const wbcpu_allocator<U> &) {}
    T *allocate(size_t n)
    {
        return device_malloc<T>(n).get();
    }
    void deallocate(T *p, size_t)
    {
        cudaFree((void *)p);
    }
    template <class U> bool operator==(const wbcpu_allocator<U> &) const
    {
        return true;
    }
    template <class U> bool operator!=(const wbcpu_allocator<U> &) const
    {
        return false;
    }
};
template <class T> using device_allocator = wbcpu_allocator<T>;

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
    explicit device_vector(size_t n) : v(n) {}
    device_vector(size_t n, const T &value) : v(n, value) {}
    device_vector(std::initializer_list<T> list) : v(list.begin(), list.end()) {}
    template <class I, class = typename std::iterator_traits<I>::value_type>
    device_vector(I first, I last) : v(first, last)
    {
    }
    template <class Other, class = decltype(std::declval<const Other &>().begin())>
    device_vector(const Other &other) : v(other.begin(), other.end())
    {
    }
    template <class Other, class = decltype(std::declval<const Other &>().begin())>
    device_vector &operator=(const Other &other)
    {
        v.assign(other.begin(), other.end());
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
        return raw()[i];
    }
    const T &operator[](size_t i) const
    {
        return raw()[i];
    }
    T &front()
    {
        return raw()[0];
    }
    T &back()
    {
        return raw()[v.size() - 1];
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
        v.resize(n, value);
    }
    void reserve(size_t n)
    {
        v.reserve(n);
    }
    void clear()
    {
        v.clear();
    }
    void shrink_to_fit()
    {
        v.shrink_to_fit();
    }
    void push_back(const T &value)
    {
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
        v.assign(first, last);
    }
    void assign(size_t n, const T &value)
    {
        v.assign(n, value);
    }
    iterator erase(iterator first, iterator last)
    {
        v.erase(v.begin() + (first - begin()), v.begin() + (last - begin()));
        return first;
    }
    template <class I> void insert(iterator at, I first, I last)
    {
        v.insert(v.begin() + (at - begin()), first, last);
    }
    friend bool operator==(const device_vector &a, const device_vector &b)
    {
        return a.v == b.v;
    }
    friend bool operator!=(const device_vector &a, const device_vector &b)
    {
        return a.v != b.v;
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
