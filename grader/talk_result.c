/* talk_result.c - see talk_result.h. */
#include "talk_result.h"

#include "util.h"

#include <string.h>

static size_t least_result_bytes(const struct case_data *d)
{
    size_t n = sizeof(struct wire_result);
    for (int b = 0; b < d->buffers; b++)
        n += d->buffer[b].bytes;
    return n;
}

static size_t full_result_bytes(const struct case_data *d)
{
    return least_result_bytes(d) + 2 * RED_ZONE * ((size_t)d->buffers + 1);
}

bool talk_may_be_result(const struct talk *t)
{
    size_t bytes = t->header.bytes;
    return bytes == sizeof(struct wire_result) ||
           (bytes <= full_result_bytes(t->d) && bytes >= least_result_bytes(t->d));
}

/* Does a result have the size that its head implies? Bit b of `kept`: the red zones of
 * buffer b are unchanged and were not sent. Of the workspace, the last, only they are. */
static bool right_size(const struct talk *t, uint32_t kept)
{
    size_t left_out = 2 * RED_ZONE * (size_t)__builtin_popcount(kept);
    return !(kept >> (t->d->buffers + 1)) &&
           t->header.bytes + left_out == full_result_bytes(t->d);
}

static size_t part_bytes(const struct case_data *d, int b)
{
    return b < d->buffers ? d->buffer[b].bytes : 0;
}

/* Is what came equal to an earlier result, as most are? */
static bool equal(const struct talk *t, uint32_t kept, const struct result *earlier)
{
    const unsigned char *from = t->payload + sizeof(struct wire_result);
    const unsigned char *all = earlier->bytes;
    if (!all || earlier->head.kept != kept) return false;
    for (int b = 0; b <= t->d->buffers; b++) {
        size_t zone = kept >> b & 1 ? RED_ZONE : 0;
        size_t whole = part_bytes(t->d, b) + 2 * RED_ZONE, came = whole - 2 * zone;
        if (memcmp(from, all + zone, came) != 0) return false;
        from += came, all += whole;
    }
    return true;
}

/* The buffers of a result, each between its red zones */
static unsigned char *all_bytes(const struct talk *t, uint32_t kept)
{
    static uint16_t zone[RED_ZONE / 2];
    for (size_t i = 0; !zone[RED_ZONE / 2 - 1]; i++) /* once */
        zone[i] = FILL_RED_ZONE;
    const unsigned char *from = t->payload + sizeof(struct wire_result);
    unsigned char *all = xmalloc(full_result_bytes(t->d) - sizeof(struct wire_result));
    unsigned char *to = all;
    for (int b = 0; b <= t->d->buffers; b++) {
        size_t bytes = part_bytes(t->d, b), around = 2 * RED_ZONE;
        if (kept >> b & 1) {
            memcpy(to, zone, RED_ZONE);
            memcpy(to + RED_ZONE + bytes, zone, RED_ZONE);
            memcpy(to + RED_ZONE, from, bytes);
            from += bytes;
        } else {
            memcpy(to, from, bytes + around);
            from += bytes + around;
        }
        to += bytes + around;
    }
    return all;
}

bool talk_keep_result(struct talk *t)
{
    struct result r = {.present = true};
    const struct result *same = &t->run->result[same_data(t->which)];
    memcpy(&r.head, t->payload, sizeof r.head);
    bool head_alone = r.head.cuda_error || t->d->dry;
    if (r.head.which != t->which ||
        (head_alone ? t->header.bytes != sizeof r.head : !right_size(t, r.head.kept)))
        return false;
    r.shared = !head_alone && equal(t, r.head.kept, same);
    if (!head_alone) r.bytes = r.shared ? same->bytes : all_bytes(t, r.head.kept);
    t->run->result[t->which] = r;
    return true;
}
