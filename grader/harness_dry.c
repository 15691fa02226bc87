/* harness_dry.c - dry cases: memory, and whether the end of each output is written. */
#include "harness_dry.h"

#include "harness_backend.h"

#include <cuda_runtime_api.h>
#include <string.h>

/* NaN, or -1: zeros in, and no function gives that. */
static const unsigned char MARK[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static int possible;
static struct mark {
    unsigned char *at; /* device */
    uint32_t bytes;    /* 0: this argument has none */
} marks[MAX_ARGS];

void dry_begin(void)
{
    possible = 1;
#if CPU_BACKEND
    wbcpu_dry(WBCPU_DRY_SAMPLE, NULL);
#endif
}

void dry_end(void)
{
    possible = 0;
#if CPU_BACKEND
    wbcpu_dry(WBCPU_DRY_OFF, NULL);
#endif
}

unsigned char *dry_alloc(size_t bytes)
{
    void *p = NULL;
    size_t left = 0, all = 0;
    if (!possible) return NULL;
    if (!CPU_BACKEND) /* asking for too much would be an error in a sanitizer's eyes */
        possible = cudaMemGetInfo(&left, &all) == cudaSuccess && bytes < left;
    possible = possible && cudaMalloc(&p, bytes ? bytes : 1) == cudaSuccess;
    if (!CPU_BACKEND && possible) possible = cudaMemset(p, 0, bytes) == cudaSuccess;
    if (!possible) cudaGetLastError(); /* clears it */
    return p;
}

int dry_possible(void)
{
    return possible;
}

void dry_fill(
    const struct wire_case *w, unsigned char *const start[], const unsigned char *data)
{
    for (uint32_t i = 0; i < w->buffers; i++) {
        if (!w->buffer[i].filled) continue;
        cudaMemcpy(start[i], data, w->buffer[i].bytes, cudaMemcpyHostToDevice);
        data += w->buffer[i].bytes;
    }
}

void dry_mark(const struct wire_case *w, unsigned char *const start[])
{
    memset(marks, 0, sizeof marks);
    for (uint32_t i = 0; i < w->args; i++) {
        const struct wire_arg *a = &w->arg[i];
        if (!a->element || a->element > sizeof MARK) continue;
        marks[i] = (struct mark){start[a->buffer] + a->last, a->element};
        cudaMemcpy(marks[i].at, MARK, a->element, cudaMemcpyHostToDevice);
    }
    cudaDeviceSynchronize();
}

/* A copy would count as work of the launcher; on the CPU back end none is needed. */
static int is_marked(const struct mark *m)
{
    unsigned char now[sizeof MARK] = {0};
    if (CPU_BACKEND)
        memcpy(now, m->at, m->bytes);
    else
        cudaMemcpy(now, m->at, m->bytes, cudaMemcpyDeviceToHost);
    return memcmp(now, MARK, m->bytes) == 0;
}

uint32_t dry_unwritten(void)
{
    for (uint32_t i = 0; i < MAX_ARGS; i++)
        if (marks[i].bytes && is_marked(&marks[i])) return i + 1;
    return 0;
}

#if CPU_BACKEND
static int all_written(void)
{
    return !dry_unwritten();
}
#endif

int dry_search(void)
{
#if CPU_BACKEND
    wbcpu_dry(WBCPU_DRY_ALL, all_written);
#endif
    return CPU_BACKEND;
}

int dry_complete(void)
{
#if CPU_BACKEND
    return wbcpu_dry_complete();
#else
    return 1;
#endif
}

int dry_short(size_t bytes)
{
#if CPU_BACKEND
    return wbcpu_dry_short(bytes);
#else
    (void)bytes;
    return 0;
#endif
}
