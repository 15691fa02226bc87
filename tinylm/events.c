/* events.c - see events.h. */
#include "events.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_RECORD = 1024 };  // bytes of data: six scalars need 200

/* --- records ------------------------------------------------------------------------ */

static uint32_t masked_crc(const unsigned char *data, size_t bytes)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);  // CRC-32C, reflected
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

static void put_little(unsigned char *out, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (unsigned char)(x >> 8 * i);
}

static uint64_t get_little(const unsigned char *in, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++)
        x |= (uint64_t)in[i] << 8 * i;
    return x;
}

enum { HEAD = 12, TAIL = 4 };  // bytes around the data

// Bytes of the whole record at p, `left` bytes before the end of the file; 0: it is cut
// off or damaged.
static size_t record_at(const unsigned char *p, size_t left)
{
    if (left < HEAD + TAIL || get_little(p + 8, 4) != masked_crc(p, 8)) return 0;
    uint64_t bytes = get_little(p, 8);
    if (bytes > left - HEAD - TAIL) return 0;
    uint32_t crc = (uint32_t)get_little(p + HEAD + bytes, 4);
    return crc == masked_crc(p + HEAD, bytes) ? HEAD + bytes + TAIL : 0;
}

/* --- events ------------------------------------------------------------------------- */

typedef struct message {
    unsigned char bytes[MAX_RECORD];
    size_t count;
} message;

// The key of a field is 8 times its number, plus the kind of its value.
enum { VARINT = 0, EIGHT_BYTES = 1, LENGTH = 2, FOUR_BYTES = 5 };

static void add_byte(message *m, unsigned byte)
{
    if (m->count == sizeof m->bytes) abort();  // MAX_RECORD is too small
    m->bytes[m->count++] = (unsigned char)byte;
}

static void add_varint(message *m, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        add_byte(m, (unsigned)(x & 0x7f) | 0x80);
    add_byte(m, (unsigned)x);
}

static void add_key(message *m, int field, int kind)
{
    add_varint(m, (uint64_t)(field << 3 | kind));
}

static void add_little(message *m, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        add_byte(m, (unsigned)(x >> 8 * i) & 0xff);
}

static void add_bytes(message *m, int field, const void *bytes, size_t count)
{
    add_key(m, field, LENGTH);
    add_varint(m, count);
    for (size_t i = 0; i < count; i++)
        add_byte(m, ((const unsigned char *)bytes)[i]);
}

static void add_scalar(message *summary, const scalar *s)
{
    uint32_t bits;
    float value = (float)s->value;
    message m = {.count = 0};
    memcpy(&bits, &value, sizeof bits);
    add_bytes(&m, 1, s->tag, strlen(s->tag));
    add_key(&m, 2, FOUR_BYTES);
    add_little(&m, bits, 4);
    add_bytes(summary, 1, m.bytes, m.count);
}

static void add_time(message *m)
{
    struct timespec now;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    memcpy(&bits, &seconds, sizeof bits);
    add_key(m, 1, EIGHT_BYTES);
    add_little(m, bits, 8);
}

static void write_record(FILE *f, const message *m)
{
    unsigned char head[HEAD], tail[TAIL];
    put_little(head, m->count, 8);
    put_little(head + 8, masked_crc(head, 8), 4);
    put_little(tail, masked_crc(m->bytes, m->count), TAIL);
    fwrite(head, 1, HEAD, f);
    fwrite(m->bytes, 1, m->count, f);
    fwrite(tail, 1, TAIL, f);
}

int events_add(FILE *f, uint32_t step, const scalar *scalars, int count)
{
    message event = {.count = 0}, summary = {.count = 0};
    for (int i = 0; i < count; i++)
        if (!isnan(scalars[i].value)) add_scalar(&summary, &scalars[i]);
    add_time(&event);
    add_key(&event, 2, VARINT);
    add_varint(&event, step);
    add_bytes(&event, 5, summary.bytes, summary.count);
    write_record(f, &event);
    return fflush(f);
}

/* --- the file ----------------------------------------------------------------------- */

// The step of an event that events_add has written; 0 for the first record.
static uint64_t step_of(const unsigned char *data, size_t bytes)
{
    enum { AT = 9 };  // after the key of wall_time and the time
    uint64_t step = 0;
    if (bytes <= AT || data[AT] != (2 << 3 | VARINT)) return 0;
    for (size_t i = AT + 1, shift = 0; i < bytes && shift < 64; i++, shift += 7) {
        step |= (uint64_t)(data[i] & 0x7f) << shift;
        if (!(data[i] & 0x80)) break;
    }
    return step;
}

// Moves the records up to `step` to the front; returns their bytes.
static size_t keep_records(unsigned char *file, size_t bytes, uint32_t step)
{
    size_t kept = 0, size;
    for (size_t at = 0; (size = record_at(file + at, bytes - at)) > 0; at += size) {
        if (step_of(file + at + HEAD, size - HEAD - TAIL) > step) continue;
        memmove(file + kept, file + at, size);
        kept += size;
    }
    return kept;
}

FILE *events_open(const char *folder, bool resume, uint32_t step, wb_error *err)
{
    static const char version[] = "brain.Event:2";
    char path[PATH_MAX + 24];
    snprintf(path, sizeof path, "%s/train.tfevents", folder);
    size_t bytes, kept = 0;
    char *old = NULL;
    if (resume && file_read_optional(&old, path, 1u << 30, &bytes, err)) return NULL;
    if (old) kept = keep_records((unsigned char *)old, bytes, step);
    int rc = file_write(path, old ? old : "", kept, err);
    free(old);
    FILE *f = rc ? NULL : fopen(path, "ab");
    if (!rc && !f) error_set(err, "%s: %s", path, strerror(errno));
    if (!f || kept) return f;
    message first = {.count = 0};
    add_time(&first);
    add_bytes(&first, 3, version, sizeof version - 1);
    write_record(f, &first);
    return f;
}
