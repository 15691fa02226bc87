/* shared.h - a __shared__ array as the grader sees it: full of NaN when a block begins, and
 * between red zones.
 *
 * The translator writes WBCPU_SHARED(name) after the declaration of each array in a
 * function. With WBCPU_RED_ZONES, the first thread of a block that passes it fills the
 * array, and the library knows the array from then on. After an array at file scope it
 * writes WBCPU_FILE_SHARED(name): the library fills these arrays when a block begins, for
 * every kernel of the program. tools/red_zones.py puts the red zones around an array. In
 * check mode the array only has the zones: the library itself knows what has been
 * written, and learns how large an element is. Programs are built without both.
 */
#ifndef WBCPU_SHARED_H
#define WBCPU_SHARED_H

#include "execution.h"

struct wbcpu_array {
    uint64_t block;    /* the last block on this CPU thread that used it */
    wbcpu_array *next; /* of the arrays that this CPU thread has used */
    char *start;
    size_t bytes;
    const char *name, *file;
    int line;
};
enum { WBCPU_RED_ZONE = 1024 }; /* bytes before and after an array */

struct wbcpu_file_array {
    char *(*address)(); /* on this CPU thread */
    size_t bytes;
    const char *name, *file;
    int line;
};

extern "C" {
/* Counts the blocks that this CPU thread has begun; 0 unless arrays are to be filled. */
extern WBCPU_THREAD_LOCAL uint64_t wbcpu_block;
void wbcpu_open_array(wbcpu_array *array);
}

namespace wbcpu
{
/* An array whose constructor gives it a value is not for nvcc, and has no red zones. */
template <class T>
constexpr bool is_filled =
    std::is_trivially_default_constructible_v<std::remove_all_extents_t<T>>;
}  // namespace wbcpu

#ifdef WBCPU_CHECKED
extern "C" void wbcpu_checked_shared(const void *array, size_t element); /* bytes */
#define WBCPU_SHARED(variable)                                                           \
    wbcpu_checked_shared(                                                                \
        (const void *)&variable, sizeof(std::remove_all_extents_t<decltype(variable)>));
#define WBCPU_FILE_SHARED(variable)
#elif defined WBCPU_RED_ZONES
#define WBCPU_SHARED(variable)                                                           \
    if constexpr (wbcpu::is_filled<decltype(variable)>) {                                \
        static __thread wbcpu_array wbcpu_a;                                             \
        if (__builtin_expect(wbcpu_a.block != wbcpu_block, 0)) {                         \
            wbcpu_a.start = (char *)&variable;                                           \
            wbcpu_a.bytes = sizeof variable;                                             \
            wbcpu_a.name = #variable;                                                    \
            wbcpu_a.file = __FILE__;                                                     \
            wbcpu_a.line = __LINE__;                                                     \
            wbcpu_open_array(&wbcpu_a);                                                  \
        }                                                                                \
    }
/* No constructor, which the grader would refuse: the library finds the pointers. */
#define WBCPU_FILE_SHARED(variable)                                                      \
    static wbcpu_file_array wbcpu_file_##variable = {                                    \
        [] { return (char *)&variable; },                                                \
        wbcpu::is_filled<decltype(variable)> ? sizeof variable : 0, #variable, __FILE__, \
        __LINE__};                                                                       \
    static wbcpu_file_array *wbcpu_file_at_##variable                                    \
        __attribute__((used, section("wbcpu_file_shared"))) = &wbcpu_file_##variable;
#else
#define WBCPU_SHARED(variable)
#define WBCPU_FILE_SHARED(variable)
#endif

#endif
