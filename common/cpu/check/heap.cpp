/* heap.cpp - host memory that kernels may use: allocations by kernels, and the library's
 * tables. Accesses to it are not checked. */
#include "check.h"

#include <map>
#include <mutex>
#include <new>
#include <stdlib.h>

namespace wbcpu::check
{
static auto &pieces = *new std::map<uintptr_t, size_t>; /* by address */
static std::mutex &lock = *new std::mutex;

static void add_piece(uintptr_t start, size_t bytes)
{
    std::lock_guard<std::mutex> hold(lock);
    pieces[start] = bytes;
}
static void drop_piece(uintptr_t start)
{
    std::lock_guard<std::mutex> hold(lock);
    pieces.erase(start);
}
bool in_heap_of_kernels(uintptr_t address)
{
    std::lock_guard<std::mutex> hold(lock);
    auto after = pieces.upper_bound(address);
    return after != pieces.begin() &&
           address - std::prev(after)->first < std::prev(after)->second;
}
extern "C" void wbcpu_checked_table(const void *p, size_t bytes)
{
    add_piece((uintptr_t)p, bytes);
}

/* The objects of checked sources call these in place of malloc and free, new and delete
 * (CHECK_COPIES in mk/toolchain.mk). new and delete are weak, because a program may define
 * them itself. */
extern "C" {
void *wbcpu_checked_malloc(size_t n)
{
    void *p = malloc(n);
    if (p && wbcpu_self) add_piece((uintptr_t)p, n);
    return p;
}
void wbcpu_checked_free(void *p)
{
    drop_piece((uintptr_t)p);
    free(p);
}
#define WEAK __attribute__((weak))
#define NEW(name)                                                                        \
    WEAK void *name(size_t n)                                                            \
    {                                                                                    \
        void *p = ::operator new(n);                                                     \
        if (wbcpu_self) add_piece((uintptr_t)p, n);                                      \
        return p;                                                                        \
    }
#define DELETE(name, SIZE)                                                               \
    WEAK void name(void *p SIZE)                                                         \
    {                                                                                    \
        drop_piece((uintptr_t)p);                                                        \
        ::operator delete(p);                                                            \
    }
#define SIZED , size_t
NEW(wbcpu_checked__Znwm)
NEW(wbcpu_checked__Znam)
DELETE(wbcpu_checked__ZdlPv, )
DELETE(wbcpu_checked__ZdaPv, )
DELETE(wbcpu_checked__ZdlPvm, SIZED)
DELETE(wbcpu_checked__ZdaPvm, SIZED)
#undef WEAK
#undef NEW
#undef DELETE
#undef SIZED
}
}  // namespace wbcpu::check
