/* crash.c - words for a crash of the learner's code. */
#include "crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *signal_words(int s)
{
    switch (s) {
    case SIGSEGV:
        return "segmentation fault";
    case SIGBUS:
        return "bus error";
    case SIGFPE:
        return "arithmetic error (an integer division by 0?)";
    case SIGILL:
        return "illegal instruction";
    case SIGABRT:
        return "abort (a failed assert?)";
    case SIGSYS:
        return "a system call that the sandbox forbids";
    }
    return strsignal(s);
}

/* Where the code was: " in kernel rows, block ..., thread ...". */
static const char *crash_place(const struct wire_crash *k, char *text, size_t bytes)
{
    snprintf(
        text, bytes, "%s%.*s",
        k->kernel[0]          ? " in "
        : k->in_launcher == 1 ? " in the launcher"
        : k->in_launcher == 2 ? " in the work that it launched"
                              : "",
        (int)sizeof k->kernel - 1, k->kernel);
    return text;
}

/* An index that is a few rows too large, not one that overflowed */
static bool just_past(const struct wire_crash *k, const struct buffer *b)
{
    return k->offset >= (int64_t)b->bytes && k->offset - (int64_t)b->bytes < 1 << 16;
}

void crash_words(
    const struct wire_crash *k, const struct case_data *d, char *text, size_t bytes)
{
    char place[256];
    const char *what = signal_words(k->signal);
    const char *where = crash_place(k, place, sizeof place);
    const struct buffer *b =
        d && k->buffer >= 0 && k->buffer < d->buffers ? &d->buffer[k->buffer] : NULL;
    unsigned long long address = k->address;
    if (k->text[0] && b)
        snprintf(
            text, bytes, "%.*s: byte %lld of buffer %s", (int)sizeof k->text - 1, k->text,
            (long long)k->offset, b->name);
    else if (k->text[0])
        snprintf(text, bytes, "%.*s", (int)sizeof k->text - 1, k->text);
    else if (k->signal != SIGSEGV && k->signal != SIGBUS)
        snprintf(text, bytes, "%s%s", what, where);
    else if (k->in_device && !k->kernel[0])
        snprintf(
            text, bytes, "host code accesses device memory%s%s: do the work in a kernel",
            b ? ", buffer " : "", b ? b->name : "");
    else if (b)
        snprintf(
            text, bytes, "%s%s: access to byte %lld of buffer %s, which has %zu bytes%s",
            what, where, (long long)k->offset, b->name, b->bytes,
            just_past(k, b) ? PAST_END : "");
    else if (k->signal == SIGBUS && !address)
        snprintf(
            text, bytes,
            "misaligned access%s: a 16-byte access at an address that is not a multiple "
            "of 16?",
            where);
    else if (address < 65536)
        snprintf(
            text, bytes,
            "%s%s at address %#llx: a NULL pointer (an optional argument?)%s", what,
            where, address,
            k->no_workspace ? ", or the workspace, whose function returned 0 bytes" : "");
    else
        snprintf(
            text, bytes,
            "%s%s at address %#llx, outside every buffer: an index far out of bounds, or "
            "a local array too large for the stack",
            what, where, address);
}
