/* alignment.cpp - what the compiler's -fsanitize=alignment calls. A GPU stops a kernel that
 * accesses a float4 at an address that is not a multiple of 16; a CPU carries on. libubsan
 * is not linked, except by a build under its sanitizers. */
#include "check/hooks.h"
#include "scheduler.h"
#include "ubsan.h"

#include "include/wbcpu.h"

#ifndef __SANITIZE_ADDRESS__
namespace wbcpu
{
struct type_mismatch {
    source_location at;
    const type_descriptor *type;
    uint8_t log_alignment, access;
};

extern "C" void
__ubsan_handle_type_mismatch_v1_abort(const type_mismatch *m, const void *address)
{
    char where[300];
    if ((uintptr_t)address < 65536)
        (void)*(const volatile char *)address; /* NULL: the usual crash */
    std::string type = plain_type(m->type);
    unsigned alignment = 1u << m->log_alignment;
    check::misaligned_object(
        type.c_str(), alignment, address, __builtin_return_address(0));
    int in_kernel = wbcpu_where(where, sizeof where);
    stop(
        address,
        "misaligned access (%s:%u): %s at an address that is not a multiple of %d%s%s",
        m->at.file, m->at.line, type.c_str(), alignment, in_kernel ? ", in " : "", where);
}
}  // namespace wbcpu
#endif
