/* thrust_pointers.h - Thrust's device pointers and the allocator of its vectors. */
#ifndef WBCPU_THRUST_POINTERS_H
#define WBCPU_THRUST_POINTERS_H

#include "../cuda_runtime.h"

#include <iterator>
#include <new>
#include <optional>

namespace thrust
{
/* While it exists, Thrust works on device memory (if the pointers are of the device), after
 * all earlier work has ended. */
class on_device
{
    std::optional<wbcpu_library> library;

  public:
    explicit on_device(bool is = true)
    {
        if (!is || wbcpu_self || wbcpu_in_library) return;
        cudaDeviceSynchronize();
        library.emplace();
    }
};
/* Host code may use a reference to an element: in Thrust that copies it. */
template <class T> T &wbcpu_element(T *p)
{
#ifdef WBCPU_CHECKED
    if (!wbcpu_self && !wbcpu_in_library) wbcpu_checked_reference(p, sizeof(T));
#endif
    return *p;
}

template <class T> class device_ptr
{
    T *p = nullptr;

  public:
    typedef std::random_access_iterator_tag iterator_category;
    typedef std::remove_cv_t<T> value_type;
    typedef ptrdiff_t difference_type;
    typedef device_ptr pointer;
    typedef std::add_lvalue_reference_t<T> reference; /* T may be void */
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
    reference operator*() const
    {
        return wbcpu_element(p);
    }
    T *operator->() const
    {
        return p;
    }
    reference operator[](ptrdiff_t i) const
    {
        return wbcpu_element(p + i);
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
inline device_ptr<void> device_malloc(size_t bytes)
{
    return device_ptr<void>(device_malloc<char>(bytes).get());
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

}  // namespace thrust
#endif
