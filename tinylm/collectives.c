/* collectives.c - see ranks.h: on the device, by NCCL, or on the CPU back end by MPI. */
#include "ranks.h"

#include "cuda_check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct call {
    enum { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER } kind;
    const void *in; /* of the reduce-scatter; the others are in place */
    void *out;
    size_t n;
    wb_dtype type;
} call;

#ifdef WITH_NCCL
#include <nccl.h>

static void enqueue(const ranks *r, call c, cudaStream_t s)
{
    static const ncclDataType_t types[WB_DTYPES] = {
        [WB_F32] = ncclFloat32, [WB_BF16] = ncclBfloat16, [WB_F16] = ncclFloat16};
    ncclDataType_t type = types[c.type];
    const char *mine = (char *)c.out + (size_t)r->rank * c.n * wb_dtype_size(c.type);
    ncclResult_t e = ncclSuccess;
    switch (c.kind) {
    case ALL_REDUCE:
        e = ncclAllReduce(c.out, c.out, c.n, type, ncclSum, r->nccl, s);
        break;
    case REDUCE_SCATTER:
        e = ncclReduceScatter(c.in, c.out, c.n, type, ncclSum, r->nccl, s);
        break;
    case ALL_GATHER:
        e = ncclAllGather(mine, c.out, c.n, type, r->nccl, s);
        break;
    }
    if (e == ncclSuccess) return;
    fprintf(
        stderr, "tinylm: rank %d: NCCL: %s: %s\n", r->rank, ncclGetErrorString(e),
        ncclGetLastError(r->nccl));
    exit(1);
}

#elif defined(WITH_MPI)
#include <mpi.h>

static float float_of(uint16_t bf16)
{
    uint32_t bits = (uint32_t)bf16 << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

// To nearest, ties to even; a NaN stays one.
static uint16_t rounded(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (f != f) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void add_bf16(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const uint16_t *a = in;
    uint16_t *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        b[i] = rounded(float_of(a[i]) + float_of(b[i]));
}

static void communicate(void *user)
{
    static MPI_Op sum_bf16 = MPI_OP_NULL;
    if (sum_bf16 == MPI_OP_NULL) MPI_Op_create(add_bf16, 1, &sum_bf16);
    const call *c = user;
    int n = (int)c->n;
    MPI_Datatype type = c->type == WB_F32 ? MPI_FLOAT : MPI_UINT16_T;
    MPI_Op sum = c->type == WB_F32 ? MPI_SUM : sum_bf16;
    MPI_Comm all = MPI_COMM_WORLD;
    switch (c->kind) {
    case ALL_REDUCE:
        MPI_Allreduce(MPI_IN_PLACE, c->out, n, type, sum, all);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_block(c->in, c->out, n, type, sum, all);
        break;
    case ALL_GATHER:
        MPI_Allgather(MPI_IN_PLACE, 0, type, c->out, n, type, all);
        break;
    }
}

// As host functions of the stream. A graph keeps the address of the call, so calls stay;
// equal ones share a place, so that steps without a graph need no more memory.
static void enqueue(const ranks *r, call c, cudaStream_t s)
{
    typedef struct item {
        call c;
        struct item *next;
    } item;
    static item *first;
    item *i = first;
    (void)r;
    while (i && (i->c.kind != c.kind || i->c.in != c.in || i->c.out != c.out ||
                 i->c.n != c.n || i->c.type != c.type))
        i = i->next;
    if (!i) {
        i = malloc(sizeof *i);
        if (!i || c.n > INT_MAX) {
            fprintf(stderr, "no message between ranks can have %zu elements\n", c.n);
            exit(1);
        }
        *i = (item){c, first};
        first = i;
    }
    CUDA_CHECK(cudaLaunchHostFunc(s, communicate, &i->c));
}

#else

static void enqueue(const ranks *r, call c, cudaStream_t s)
{
    (void)r, (void)c, (void)s;
}

#endif

void ranks_all_reduce(const ranks *r, void *x, size_t n, wb_dtype e, cudaStream_t s)
{
    if (r->size > 1) enqueue(r, (call){ALL_REDUCE, NULL, x, n, e}, s);
}

void ranks_reduce_scatter(
    const ranks *r, void *part, const void *x, size_t n, wb_dtype e, cudaStream_t s)
{
    if (r->size > 1) enqueue(r, (call){REDUCE_SCATTER, x, part, n, e}, s);
}

void ranks_all_gather(const ranks *r, void *x, size_t n, wb_dtype e, cudaStream_t s)
{
    if (r->size > 1) enqueue(r, (call){ALL_GATHER, NULL, x, n, e}, s);
}
