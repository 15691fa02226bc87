/* allocations.c - a training step after the second allocates nothing, neither on the host
 * nor on the device: every way to get memory from the system passes through here and is
 * counted. OpenBLAS is not asked: its kernel for small matrices takes a kilobyte of scratch
 * from malloc in each call. */
#include "../../tinylm/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long counted;

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);

static void count(void)
{
    __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t n)
{
    count();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count();
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    count();
    return __libc_memalign(align, n);
}

void *memalign(size_t align, size_t n)
{
    count();
    return __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    count();
    *p = __libc_memalign(align, n);
    return *p ? 0 : 12;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    count();
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}

static long allocations_of_steps(trainer *t, int steps)
{
    long before = counted;
    for (int i = 0; i < steps; i++)
        trainer_step(t);
    trainer_read(t);
    return counted - before;
}

static int check(llama_dtype dtype, bool graph, float dropout)
{
    llama_config c = {
        .layers = 2,
        .channels = 32,
        .heads = 4,
        .kv_heads = 2,
        .head_dim = 8,
        .hidden = 40,
        .vocab = 50,
        .context = 16,
        .tied = true,
        .eps = 1e-5f,
        .rope_base = 10000,
        .dtype = dtype};
    llama_recipe r = {
        .schedule = {2, 2, 20, 1e-3f, 1e-4f},
        .accum = 2,
        .dropout = dropout,
        .beta1 = 0.9f,
        .beta2 = 0.99f,
        .adam_eps = 1e-8f,
        .decay = 0.1f,
        .clip = 1};
    static int text[500];
    for (int i = 0; i < 500; i++)
        text[i] = i * i % 50;
    llama m;
    trainer t;
    wb_error err;
    if (llama_create(&m, &c, 3, 16, 2, LLAMA_TRAIN, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    llama_initialise(&m, 1);
    trainer_open(&t, &m, &r, text, 500, 1, 0, graph);
    long first = allocations_of_steps(&t, 3), later = allocations_of_steps(&t, 5);
    bool ok = later == 0 && first > 0;
    printf(
        "%s - %s%s: the first steps allocate %ld times, five later ones %ld times\n",
        ok ? "ok" : "not ok", llama_dtype_name(dtype), graph ? ", as a graph" : "", first,
        later);
    trainer_close(&t);
    llama_destroy(&m);
    return !ok;
}

int main(void)
{
    setenv("WB_BLAS", "own", 1);
    int failed = check(LLAMA_F32, false, 0);
    failed |= check(LLAMA_F32, true, 0);
    failed |= check(LLAMA_BF16, true, 0.2f);
    return failed;
}
