/* attack.h - for the programs in threats/ that speak the grader's protocol themselves.
 * Nothing here can be scanned away: the programs run although the scan rejects them. */
#ifndef ATTACK_H
#define ATTACK_H
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { SOCKET = 3, ZONE = 8192 };
enum { HELLO = 0x77620001, CASE, BEGIN, READY, CALL, RESULT, END, DONE, CRASH, BROKEN };

struct message {
    uint32_t kind, unused;
    uint64_t nonce[2], bytes;
};
struct answer {
    uint32_t which;
    int32_t status, cuda_error;
    uint32_t captured;
    uint64_t launches;
    char cuda_message[128];
    uint32_t unwritten, kept;
};

/* The question that the harness is about to answer, in its frame. */
static inline struct message *question()
{
    char *p = (char *)((uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7);
    for (int i = 0; i < 1 << 16; i += 8) {
        struct message *m = (struct message *)(p + i);
        if (m->kind == CALL && !m->unused && m->nonce[0] >> 32 && m->nonce[1] >> 32)
            return m;
    }
    _exit(9);
}

/* Which call that is. In a new process it is one in another order, whose seed is next to
 * its number. */
static inline uint32_t which_call()
{
    char *p = (char *)question() - 256;
    for (int i = 0; i < 512; i += 8) {
        uint32_t which = *(uint32_t *)(p + i), unused = *(uint32_t *)(p + i + 4);
        uint64_t order = *(uint64_t *)(p + i + 8);
        if (which >= 12 && which < 20 && !unused && order >> 40 && order % 2) return which;
    }
    return 0;
}

/* The back end's own: copies to the host are refused while a launcher runs. */
extern "C" void wbcpu_guard(int on);

static inline void put(const void *bytes, size_t n)
{
    for (const char *p = (const char *)bytes; n;) {
        ssize_t part = write(SOCKET, p, n);
        if (part <= 0) _exit(8);
        p += part, n -= (size_t)part;
    }
}

static inline void get(void *bytes, size_t n)
{
    for (char *p = (char *)bytes; n;) {
        ssize_t part = read(SOCKET, p, n);
        if (part <= 0) _exit(7);
        p += part, n -= (size_t)part;
    }
}

static inline void say_as(const struct message *of, uint32_t kind, uint64_t bytes)
{
    struct message m = {kind, 0, {of->nonce[0], of->nonce[1]}, bytes};
    put(&m, sizeof m);
}

/* What the grader expects after a call of rmsnorm_forward_f32 in the case `basic`: out,
 * rstd, x, w, each between red zones, and the zones of the workspace. */
static inline void put_zone()
{
    static uint16_t zone[ZONE / 2];
    for (int i = 0; i < ZONE / 2; i++)
        zone[i] = 0x7FF7;
    put(zone, ZONE);
}
static inline void put_buffer(const float *v, int n)
{
    put_zone();
    put(v, sizeof(float) * (size_t)n);
    put_zone();
}
static inline void right_values(
    float *out, float *rstd, const float *x, const float *w, int R, int C, float eps,
    float offset)
{
    for (int r = 0; r < R; r++) {
        double squares = 0;
        for (int c = 0; c < C; c++)
            squares += (double)x[r * C + c] * x[r * C + c];
        rstd[r] = (float)(1 / __builtin_sqrt(squares / C + eps));
        for (int c = 0; c < C; c++)
            out[r * C + c] = x[r * C + c] * rstd[r] * (offset + w[c]);
    }
}
#endif
