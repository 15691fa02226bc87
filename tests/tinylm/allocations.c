/* allocations.c - a training step after the second allocates nothing on the device, and
 * (argument "host") nothing on the host: every way to get memory from the system passes
 * through here and is counted.
 *
 * A card's driver allocates for itself when it launches, so there only the device's memory
 * is looked at; what is counted is the whole card's, so a difference must come again.
 * OpenBLAS is not asked: its kernel for small matrices takes a kilobyte of scratch from
 * malloc in each call. One worker: each keeps scratch for its tiles of a product, and with
 * more of them it is chance which step gives a worker its first.
 */
#include "../../tinylm/trainer.h"
#include "small.h"

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

static int check(bool host, const char *line)
{
    static int text[500];
    for (int i = 0; i < 500; i++)
        text[i] = i * i % 50;
    model m;
    trainer t;
    model_recipe r;
    small_model_line(&m, &r, 50, line);
    model_initialise(&m, 1);
    trainer_open(&t, &m, &r, text, 500, 1, 0, strstr(line, "--graph 0") == NULL);
    used first = steps(&t, 3), later = steps(&t, 5);
    for (int again = 0; again < 3 && later.device; again++)  // or another process's
        later.device = steps(&t, 5).device;
    bool ok = later.device == 0 && (!host || (later.calls == 0 && counted > 0));
    printf(
        "%s - %s: five later steps take %zu bytes on the device", ok ? "ok" : "not ok",
        line, later.device);
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
#define SIZES                                                                            \
    "--layers 3 --channels 32 --heads 2 --hidden 40 --context 16 --batch 3 --accum 2 "
    int failed = check(host, SIZES "--kv-heads 1 --graph 0");
    failed |= check(host, SIZES "--kv-heads 1 --attention gemm");
    failed |= check(host, SIZES "--dtype bf16 --dropout 0.2");
    failed |= check(host, SIZES "--arch griffin --graph 0");
    failed |= check(host, SIZES "--arch griffin --dtype bf16 --dropout 0.2");
    failed |= check(host, SIZES "--arch griffin --dtype f16");
    return failed;
}
