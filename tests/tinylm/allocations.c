/* allocations.c - a training step after the second allocates nothing on the device, and
 * (argument "host") nothing on the host: every way to get memory from the system passes
 * through here and is counted.
 *
 * A card's driver allocates for itself when it launches, so there only the device's memory
 * is looked at. OpenBLAS is not asked: its kernel for small matrices takes a kilobyte of
 * scratch from malloc in each call. One worker: each keeps scratch for its tiles of a
 * product, and with more of them it is chance which step gives a worker its first. */
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

typedef struct used {
    long calls;     // for host memory
    size_t device;  // bytes taken
} used;

static used steps(trainer *t, int n)
{
    size_t before, after, total;
    CUDA_CHECK(cudaMemGetInfo(&before, &total));
    long calls = counted;
    for (int i = 0; i < n; i++)
        trainer_step(t);
    trainer_read(t);
    calls = counted - calls;
    CUDA_CHECK(cudaMemGetInfo(&after, &total));
    return (used){calls, before - after};
}

static int check(bool host, model_dtype dtype, bool graph, float dropout)
{
    model_config c = {
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
        .gemm_attention = true,
        .dtype = dtype};
    model_recipe r = {
        .loss_scale = 1,
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
    model m;
    trainer t;
    wb_error err;
    if (model_create(&m, &c, 3, 16, 2, MODEL_TRAIN, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    model_initialise(&m, 1);
    trainer_open(&t, &m, &r, text, 500, 1, 0, graph);
    used first = steps(&t, 3), later = steps(&t, 5);
    bool ok = later.device == 0 && (!host || (later.calls == 0 && counted > 0));
    printf(
        "%s - %s%s: five later steps take %zu bytes on the device", ok ? "ok" : "not ok",
        model_dtype_name(dtype), graph ? ", as a graph" : "", later.device);
    if (host)
        printf(
            "; on the host they ask %ld times, the first three %ld", later.calls,
            first.calls);
    printf("\n");
    trainer_close(&t);
    model_destroy(&m);
    return !ok;
}

int main(int argc, char **argv)
{
    bool host = argc > 1 && strcmp(argv[1], "host") == 0;
    setenv("WB_BLAS", "own", 1);
    setenv("WB_THREADS", "1", 1);
    int failed = check(host, MODEL_F32, false, 0);
    failed |= check(host, MODEL_F32, true, 0);
    failed |= check(host, MODEL_BF16, true, 0.2f);
    return failed;
}
