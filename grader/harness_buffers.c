/* harness_buffers.c - see harness_buffers.h. */
#include "harness_buffers.h"

#include "harness_backend.h"
#include "harness_check.h"
#include "harness_dry.h"
#include "harness_wire.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *staging; /* host; a buffer with its red zones, or a result */
static size_t staging_bytes;

void cuda(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) broken(what, cudaGetErrorString(error));
}

static void fill(unsigned char *p, size_t bytes, uint16_t pattern)
{
    memcpy(p, &pattern, bytes < 2 ? bytes : 2); /* little-endian, as the grader's are */
    for (size_t done = 2; done < bytes; done *= 2)
        memcpy(p + done, p, done < bytes - done ? done : bytes - done);
}

void guard(const struct call *c, int on)
{
#if CPU_BACKEND
    wbcpu_guard(!on ? 0 : c->host_code ? 1 : 2);
#else
    (void)c, (void)on;
#endif
}

static void need_staging(size_t bytes)
{
    if (bytes <= staging_bytes) return;
    free(staging);
    staging = malloc(bytes);
    staging_bytes = bytes;
    if (!staging) broken("not enough host memory for the buffers of the case", NULL);
}

static unsigned char *alloc_with_red_zones(
    const struct call *c, size_t bytes, const char *name, unsigned element)
{
    void *p;
    size_t whole = bytes + 2 * RED_ZONE + MAX_ELEMENT;
    if (c->wire->dry) return dry_alloc(bytes) - RED_ZONE; /* it has no red zones */
    need_staging(bytes + 2 * RED_ZONE);
    if (in_host_memory(name)) {
        p = aligned_alloc(256, (whole + 255) / 256 * 256);
        if (!p) broken("not enough host memory for the buffers of the case", NULL);
        return p;
    }
    cuda(cudaMalloc(&p, whole), "not enough device memory for the case");
    check_name(p, bytes, name, element);
    return p;
}

void alloc_buffers(struct call *c)
{
    c->input_bytes = 0;
    c->host_code = 0;
    for (uint32_t i = 0; i < c->wire->buffers; i++) {
        const struct wire_buffer *b = &c->wire->buffer[i];
        c->host_code |= in_host_memory(b->name);
        c->base[i] = alloc_with_red_zones(c, b->bytes, b->name, b->element);
        if (b->filled) c->input_bytes += b->bytes;
    }
    c->inputs = malloc(c->input_bytes + 1);
    if (!c->inputs) broken("not enough host memory for the data of the case", NULL);
}

void alloc_workspace(struct call *c, size_t bytes)
{
    static const size_t MOST = (size_t)1 << 40; /* more than any device has */
    if (bytes > MOST)
        broken("the workspace function asks for more than any device has", NULL);
    c->work_bytes = bytes;
    c->work = alloc_with_red_zones(c, bytes, "workspace", 0);
}

void free_buffers(struct call *c)
{
    size_t before = c->wire->dry ? RED_ZONE : 0;
    for (uint32_t i = 0; i < c->wire->buffers; i++)
        in_host_memory(c->wire->buffer[i].name) ? free(c->base[i])
                                                : (void)cudaFree(c->base[i] + before);
    cudaFree(c->work + before);
    free(c->inputs);
    c->inputs = NULL;
}

/* Writes the initial contents of a buffer: data or a fill pattern, and its red zones. */
static void refill(unsigned char *base, size_t bytes, const void *data, uint16_t filling)
{
    fill(staging, RED_ZONE, FILL_RED_ZONE);
    if (data)
        memcpy(staging + RED_ZONE, data, bytes);
    else
        fill(staging + RED_ZONE, bytes, filling);
    fill(staging + RED_ZONE + bytes, RED_ZONE, FILL_RED_ZONE);
    cuda(
        cudaMemcpy(base, staging, bytes + 2 * RED_ZONE, cudaMemcpyDefault),
        "cannot fill a buffer");
    if (!data) check_unwritten(base + RED_ZONE, bytes);
}

/* A copy from pageable host memory may still be in flight when cudaMemcpy returns, and
 * the stream of the call does not wait for it. So this function does. */
void refill_buffers(struct call *c)
{
    const unsigned char *data = c->inputs;
    guard(c, 0);
    for (uint32_t i = 0; i < c->wire->buffers; i++) {
        const struct wire_buffer *b = &c->wire->buffer[i];
        refill(c->base[i], b->bytes, b->filled ? data : NULL, FILL_POISON);
        if (b->filled) data += b->bytes;
    }
    refill(c->work, c->work_bytes, NULL, FILL_WORKSPACE);
    cuda(cudaDeviceSynchronize(), "cannot fill the buffers");
    guard(c, 1);
}

static void read_back(unsigned char *to, const unsigned char *from, size_t bytes)
{
    cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cannot read a buffer back");
}

/* Is what lies at `zone` as refill() has written it? The pattern has two bytes. */
static int zone_kept(const unsigned char *zone)
{
    static const uint16_t pattern = FILL_RED_ZONE;
    return !memcmp(zone, &pattern, 2) && !memcmp(zone, zone + 2, RED_ZONE - 2);
}

/* A buffer between its red zones lies at `at`: leaves them out if they are as they were.
 * Returns where the next one goes. */
static unsigned char *
pack(unsigned char *at, size_t bytes, struct wire_result *r, uint32_t bit)
{
    if (!zone_kept(at) || !zone_kept(at + RED_ZONE + bytes))
        return at + bytes + 2 * RED_ZONE;
    memmove(at, at + RED_ZONE, bytes);
    r->kept |= 1u << bit;
    return at + bytes;
}

static size_t result_bytes(const struct call *c)
{
    size_t n = sizeof(struct wire_header) + sizeof(struct wire_result) + 2 * RED_ZONE;
    for (uint32_t i = 0; i < c->wire->buffers; i++)
        n += c->wire->buffer[i].bytes + 2 * RED_ZONE;
    return n;
}

/* One write: each would wake the grader. */
void send_result(struct call *c, struct wire_result *r)
{
    struct wire_header header;
    uint32_t n = c->wire->buffers;
    int head_alone = r->cuda_error || c->wire->dry; /* no reading after an error */
    need_staging(head_alone ? sizeof header + sizeof *r : result_bytes(c));
    unsigned char *payload = staging + sizeof header, *at = payload + sizeof *r;
    if (!head_alone) {
        guard(c, 0);
        for (uint32_t i = 0; i < n; i++) {
            read_back(at, c->base[i], c->wire->buffer[i].bytes + 2 * RED_ZONE);
            at = pack(at, c->wire->buffer[i].bytes, r, i);
        }
        read_back(at, c->work, RED_ZONE);
        read_back(at + RED_ZONE, c->work + RED_ZONE + c->work_bytes, RED_ZONE);
        at = pack(at, 0, r, n);
    }
    header = make_header(MSG_RESULT, (size_t)(at - payload));
    memcpy(staging, &header, sizeof header);
    memcpy(payload, r, sizeof *r);
    write_all(staging, (size_t)(at - staging));
}
