/* symbols.h - the program's own symbol table; internal to the library. */
#ifndef WBCPU_SYMBOLS_H
#define WBCPU_SYMBOLS_H

#include "include/cuda_runtime.h"

#include <functional>
#include <link.h>
#include <string>

namespace wbcpu
{
/* Calls use(name, symbol) for each; false: the table cannot be read. Addresses of functions
 * and variables count from load_address(). */
bool each_symbol(const std::function<void(const char *, const ElfW(Sym) &)> &use);
uintptr_t load_address();
std::string demangled(const char *symbol);
/* norm<float> of void norm<float>(float const *, int) */
std::string function_name(const char *symbol);
/* The function of the program that starts there; NULL: none, or no symbol table */
const char *function_at(const void *start);

/* What wbcpu_name_next_launch said, once. */
struct next_launch {
    const char *name; /* NULL: as the source of the launch calls it */
    dim3 cluster;
    bool cooperative;
};
next_launch take_next_launch();
}  // namespace wbcpu
#endif
