/* allocations.c - a training step after the second allocates nothing on the device, and
 * (argument "host") nothing on the host: every call that gets memory from the system passes
 * through here and is counted.
 *
 * On the device only this program's own calls count, which the linker redirects (--wrap in
 * mk/tinylm.mk): the free memory of a GPU also changes with other programs. A GPU's driver
 * allocates on the host when it launches, so there only the device is checked. OpenBLAS is not
 * used: its kernel for small matrices gets a kilobyte of scratch from malloc in each call. One
 * worker: each keeps scratch for the tiles of its GEMMs, and with more of them it is chance
 * which step gives a worker its first.
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

/* --- the device: calls of the program and of all that is linked into it ------------- */

static volatile long device_counted;

extern cudaError_t __real_cudaMalloc(void **p, size_t n);
extern cudaError_t __real_cudaMallocAsync(void **p, size_t n, cudaStream_t stream);
extern cudaError_t __real_cudaMallocManaged(void **p, size_t n, unsigned flags);

cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
    device_counted++;
    return __real_cudaMalloc(p, n);
}

cudaError_t __wrap_cudaMallocAsync(void **p, size_t n, cudaStream_t stream)
{
    device_counted++;
    return __real_cudaMallocAsync(p, n, stream);
}

cudaError_t __wrap_cudaMallocManaged(void **p, size_t n, unsigned flags)
{
    device_counted++;
    return __real_cudaMallocManaged(p, n, flags);
}

typedef struct calls {
    long host, device;
} calls;

static calls steps(trainer *t, int n)
{
    calls before = {counted, device_counted};
    for (int i = 0; i < n; i++)
        trainer_step(t);
    trainer_read(t);
    return (calls){counted - before.host, device_counted - before.device};
}

static int check(bool host, const char *line)
{
    static int text[500];
    for (int i = 0; i < 500; i++)
        text[i] = i * i % 50;
    device_counted = 0;
    model m;
    trainer t;
    model_recipe r;
    small_model_line(&m, &r, 50, line);
    model_initialise(&m, 1);
    trainer_open(&t, &m, &r, text, 500, 1, 0, strstr(line, "--no-graph") == NULL);
    calls first = steps(&t, 3), later = steps(&t, 5);
    bool ok = later.device == 0 && device_counted > 0;
    if (host) ok = ok && later.host == 0 && counted > 0;
    printf(
        "%s - %s: five later steps allocate on the device %ld times, all earlier ones %ld",
        ok ? "ok" : "not ok", line, later.device, device_counted - later.device);
    if (host)
        printf(
            "; on the host %ld times, the first three steps %ld", later.host, first.host);
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
    int failed = check(host, SIZES "--kv-heads 1 --no-graph");
    failed |= check(host, SIZES "--kv-heads 1 --attention gemm");
    failed |= check(host, SIZES "--dtype bf16 --dropout 0.2");
    failed |= check(host, SIZES "--arch griffin --no-graph");
    failed |= check(host, SIZES "--arch griffin --dtype bf16 --dropout 0.2");
    failed |= check(host, SIZES "--arch griffin --dtype f16");
    return failed;
}
