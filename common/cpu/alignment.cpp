/* alignment.cpp - what the compiler's -fsanitize=alignment calls. A GPU stops a kernel that
 * accesses a float4 at an address that is not a multiple of 16; a CPU carries on. libubsan
 * is not linked, except by a build under its sanitizers. */
#include "check/hooks.h"
#include "scheduler.h"

#include "include/wbcpu.h"

#ifndef __SANITIZE_ADDRESS__
namespace wbcpu
{
/* The compiler writes these two; their layout is libubsan's. */
struct type_descriptor {
    uint16_t kind, info;
    char name[]; /* 'float4' */
};
struct type_mismatch {
    const char *file;
    uint32_t line, column;
    const type_descriptor *type;
    uint8_t log_alignment, access;
};

/* 'const struct float4' is float4 in CUDA's words. */
static const char *plain_name(const char *quoted, char *text, size_t size)
{
    for (quoted += *quoted == '\'';;) {
        const char *word = nullptr;
        for (const char *w : {"const ", "volatile ", "struct "})
            if (strncmp(quoted, w, strlen(w)) == 0) word = w;
        if (!word) break;
        quoted += strlen(word);
    }
    snprintf(text, size, "%s", quoted);
    if (*text && text[strlen(text) - 1] == '\'') text[strlen(text) - 1] = 0;
    return text;
}

extern "C" void
__ubsan_handle_type_mismatch_v1_abort(const type_mismatch *m, const void *address)
{
    char where[300], name[100];
    if ((uintptr_t)address < 65536)
        (void)*(const volatile char *)address; /* NULL: the usual crash */
    check::misaligned_object(
        plain_name(m->type->name, name, sizeof name), 1u << m->log_alignment, address,
        __builtin_return_address(0));
    int in_kernel = wbcpu_where(where, sizeof where);
    stop(
        address,
        "misaligned access (%s:%u): %s at an address that is not a multiple of %d%s%s",
        m->file, m->line, plain_name(m->type->name, name, sizeof name),
        1 << m->log_alignment, in_kernel ? ", in " : "", where);
}
}  // namespace wbcpu
#endif
