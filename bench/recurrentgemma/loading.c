/* loading.c - how fast a model folder loads to the device, and what bounds it:
 *   loading FOLDER [f32|bf16|f16]
 * reading the files; reading them again from the page cache; copying the mapped files,
 * which are pageable memory; writing to new device memory (without a GPU the system clears
 * its pages first, and a virtual machine may have to get them from its host); and the
 * loader, which checks, packs and uploads. Seconds are wall clock, then CPU time of all
 * threads, which depends less on what else runs. */
#include "../../recurrentgemma/engine/weights.h"
#include "model_files.h"
#include "progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static clock_t cpu_start;

static double begin(void)
{
    cpu_start = clock();
    return seconds_now();
}

static void row(const char *what, double start, double bytes)
{
    double seconds = seconds_now() - start;
    double cpu = (double)(clock() - cpu_start) / CLOCKS_PER_SEC;
    printf(
        "%-44s %8.3f s %8.2f GB/s %8.3f s CPU\n", what, seconds, bytes * 1e-9 / seconds,
        cpu);
}

// Drops the file from the page cache where the file system allows it; mapped pages stay.
static void drop_cache(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0) return;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static double read_file(const char *path)
{
    enum { PIECE = 4 << 20 };
    char *piece = malloc(PIECE);
    int fd = open(path, O_RDONLY);
    double bytes = 0;
    ssize_t n;
    while (piece && fd >= 0 && (n = read(fd, piece, PIECE)) > 0)
        bytes += (double)n;
    if (fd >= 0) close(fd);
    free(piece);
    return bytes;
}

static double upload_mapped(const st_file *f, char *device)
{
    double bytes = 0;
    for (size_t i = 0; i < st_count(f); i++) {
        const st_tensor *t = st_at(f, i);
        CUDA_CHECK(cudaMemcpy(device, t->data, t->bytes, cudaMemcpyHostToDevice));
        bytes += (double)t->bytes;
    }
    return bytes;
}

static void write_new(size_t bytes)
{
    char *device;
    CUDA_CHECK(cudaMalloc((void **)&device, bytes));
    CUDA_CHECK(cudaMemset(device, 0, bytes));
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(device));
}

static int load(const char *folder, wb_dtype dtype, const char *what, double bytes)
{
    griffin_config c;
    rg_weights w;
    wb_error err;
    double start = begin();
    if (griffin_config_read(&c, folder, &err) ||
        rg_weights_load(&w, &c, folder, false, dtype, NULL, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    row(what, start, bytes);
    rg_weights_free(&w);
    return 0;
}

static bool dtype_named(const char *name, wb_dtype *dtype)
{
    static const char *const names[WB_DTYPES] = {"f32", "bf16", "f16"};
    for (int i = 0; i < WB_DTYPES; i++)
        if (strcmp(name, names[i]) == 0) return *dtype = (wb_dtype)i, true;
    return false;
}

int main(int argc, char **argv)
{
    model_files files;
    wb_error err;
    wb_dtype dtype = WB_BF16;
    char *device;
    double bytes = 0, start;
    if (argc < 2 || argc > 3 || (argc > 2 && !dtype_named(argv[2], &dtype)))
        return fprintf(stderr, "usage: loading FOLDER [f32|bf16|f16]\n"), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (model_files_open(&files, argv[1], &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    size_t largest = 0;
    for (size_t i = 0; i < files.count; i++)
        if (files.all[i].tensor->bytes > largest) largest = files.all[i].tensor->bytes;
    CUDA_CHECK(cudaMalloc((void **)&device, largest));
    char **path = calloc((size_t)files.files, sizeof *path);
    int count = files.files;
    for (int i = 0; i < count; i++)
        drop_cache(path[i] = strdup(st_path(files.file[i])));
    start = begin();
    for (int i = 0; i < files.files; i++)
        bytes += read_file(st_path(files.file[i]));
    row("read, page cache dropped where possible", start, bytes);
    start = begin();
    for (int i = 0; i < files.files; i++)
        read_file(st_path(files.file[i]));
    row("read again", start, bytes);
    for (int again = 0; again < 2; again++) {
        start = begin();
        for (int i = 0; i < files.files; i++)
            upload_mapped(files.file[i], device);
        row("cudaMemcpy of the mapped tensors", start, bytes);
    }
    CUDA_CHECK(cudaFree(device));
    model_files_close(&files);
    for (int again = 0; again < 2; again++) {
        start = begin();
        write_new((size_t)bytes);
        row("cudaMalloc and cudaMemset of as much", start, bytes);
    }
    for (int again = 0; again < 3; again++)
        if (load(argv[1], dtype, "loader", bytes)) return 1;
    for (int i = 0; i < count; i++) {
        drop_cache(path[i]);
        free(path[i]);
    }
    free(path);
    return load(argv[1], dtype, "loader, page cache dropped where possible", bytes);
}
