/* parts.c - see parts.h. */
#include "parts.h"

#include "ceiling.h"
#include "cuda_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 24, EVENTS = 4096 };
static struct row {
    const char *name;
    int calls;
    double ms, flops, bytes;
} rows[PARTS];
static struct event {
    cudaEvent_t at;
    int row; /* PARTS - 1 marks the end of a run */
} events[EVENTS];
static int event_count;
static bool active;
static double copy_speed, gemm_speed; /* bytes, FLOPs per second */

static void mark(int row)
{
    if (event_count == EVENTS) {
        fprintf(stderr, "prefill: more than %d kernels: raise EVENTS\n", EVENTS);
        exit(1);
    }
    struct event *e = &events[event_count++];
    if (!e->at) CUDA_CHECK(cudaEventCreate(&e->at));
    e->row = row;
    CUDA_CHECK(cudaEventRecord(e->at, NULL));
}

void part(const char *name, double flops, double bytes)
{
    int i = 0;
    if (!active) return;
    while (i < PARTS - 1 && rows[i].name && strcmp(rows[i].name, name) != 0)
        i++;
    rows[i].name = name, rows[i].calls++;
    rows[i].flops += flops, rows[i].bytes += bytes;
    mark(i);
}

void parts_ceilings(void)
{
    copy_speed = ceiling_copy(), gemm_speed = ceiling_product(true);
    printf(
        "copy %.0f GB/s, large GEMM %.1f TFLOP/s\n", copy_speed / 1e9, gemm_speed / 1e12);
}

void parts_begin(void)
{
    memset(rows, 0, sizeof rows);
    active = true;
}

void parts_add(void)
{
    mark(PARTS - 1);
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int i = 0; i + 1 < event_count; i++) {
        float ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&ms, events[i].at, events[i + 1].at));
        if (events[i].row < PARTS - 1) rows[events[i].row].ms += ms;
    }
    event_count = 0;
}

void parts_print(int runs)
{
    double sum = 0;
    active = false;
    for (int i = 0; i < PARTS && rows[i].name; i++) {
        const struct row *p = &rows[i];
        double s = p->ms / 1e3, rate = (p->flops ? p->flops : p->bytes) / s;
        double fraction = rate / (p->flops ? gemm_speed : copy_speed);
        printf(
            "  %-22s %4d calls %9.3f ms  %8.4f each  %8.1f %-7s %5.3f of %s\n", p->name,
            p->calls / runs, p->ms / runs, p->ms / p->calls,
            rate / (p->flops ? 1e12 : 1e9), p->flops ? "TFLOP/s" : "GB/s", fraction,
            p->flops ? "GEMM" : "copy");
        sum += p->ms / runs;
    }
    printf("  %-22s %20.3f ms\n", "sum", sum);
}
