/* upload.c - see upload.h.
 *
 * The matrices are cut into jobs. Threads take jobs in order; job j fills buffer j mod N,
 * and the calling thread sends the buffers in order. Job j may start when job j-N has
 * been sent, so at any time some buffers are being filled and two are being sent. */
#include "upload.h"
#include "cast.h"
#include "cores.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_BYTES = 4 << 20, MAX_THREADS = 12, MAX_BUFFERS = MAX_THREADS + 3 };

upload upload_plain(void *out, const void *in, wb_dtype stored, size_t rows, size_t cols)
{
    return (upload){out, in, stored, rows, cols, rows, rows, cols, cols, cols, 1};
}

/* --- a job -------------------------------------------------------------------------- */

typedef struct job {
    const upload *u;
    size_t row, rows, col, cols;  // of u->out; whole rows, except in a matrix of one row
} job;

// n elements of one row, all of them in the file.
static char *convert(char *out, const char *in, const upload *u, wb_dtype dtype, size_t n)
{
    size_t from = wb_dtype_size(u->stored), to = wb_dtype_size(dtype);
    if (u->stored == dtype && u->col_stride == 1) {
        memcpy(out, in, n * to);
        return out + n * to;
    }
    float part[1024];
    for (size_t i = 0; i < n; i += sizeof part / sizeof *part) {
        size_t m = n - i < 1024 ? n - i : 1024;
        wb_to_floats(part, in + i * u->col_stride * from, u->stored, m, u->col_stride);
        wb_from_floats(out + i * to, part, dtype, m);
    }
    return out + n * to;
}

static char *zeros(char *out, wb_dtype dtype, size_t n)
{
    memset(out, 0, n * wb_dtype_size(dtype));
    return out + n * wb_dtype_size(dtype);
}

static void fill(char *out, const job *j, wb_dtype dtype)
{
    const upload *u = j->u;
    size_t from = wb_dtype_size(u->stored);
    for (size_t r = j->row; r < j->row + j->rows; r++) {
        size_t group = r / u->row_full, in_group = r % u->row_full;
        if (in_group >= u->row_true) {
            out = zeros(out, dtype, j->cols);
            continue;
        }
        const char *in =
            (const char *)u->in + (group * u->row_true + in_group) * u->row_stride * from;
        if (u->col_true == u->col_full) {
            out = convert(out, in + j->col * u->col_stride * from, u, dtype, j->cols);
            continue;
        }
        for (size_t c = 0; c < u->cols; c += u->col_full) {
            out = convert(out, in, u, dtype, u->col_true);
            out = zeros(out, dtype, u->col_full - u->col_true);
            in += u->col_true * u->col_stride * from;
        }
    }
}

// In inf and NaN every bit of the exponent is set, so adding 1 at its lowest bit carries
// into the sign bit. Checks 8 bytes, 2 or 4 numbers, at a time.
static bool all_finite(const char *out, wb_dtype dtype, size_t bytes)
{
    static const uint64_t exponent[WB_DTYPES] = {
        [WB_F32] = 0x7f8000007f800000,
        [WB_BF16] = 0x7f807f807f807f80,
        [WB_F16] = 0x7c007c007c007c00};
    static const uint64_t lowest[WB_DTYPES] = {
        [WB_F32] = 0x0080000000800000,
        [WB_BF16] = 0x0080008000800080,
        [WB_F16] = 0x0400040004000400};
    uint64_t carried = 0;
    for (size_t i = 0; i < bytes; i += sizeof carried) {
        uint64_t some = 0;
        memcpy(&some, out + i, bytes - i < sizeof some ? bytes - i : sizeof some);
        carried |= (some & exponent[dtype]) + lowest[dtype];
    }
    return !(carried & (dtype == WB_F32 ? 0x8000000080000000 : 0x8000800080008000));
}

/* --- cutting ------------------------------------------------------------------------ */

// A matrix with the same layout in the file and on the device is one row.
static upload flattened(const upload *u)
{
    if (u->row_true != u->row_full || u->col_true != u->col_full || u->col_stride != 1 ||
        u->row_stride != u->cols)
        return *u;
    return upload_plain(u->out, u->in, u->stored, 1, u->rows * u->cols);
}

static size_t cut(const upload *u, wb_dtype dtype, job *jobs)
{
    size_t e = wb_dtype_size(dtype), count = 0;
    if (u->rows == 0 || u->cols == 0) return 0;
    size_t cols = u->rows == 1 && u->col_true == u->col_full ? JOB_BYTES / e : u->cols;
    size_t rows = cols * e < JOB_BYTES ? JOB_BYTES / (cols * e) : 1;
    for (size_t r = 0; r < u->rows; r += rows)
        for (size_t c = 0; c < u->cols; c += cols, count++) {
            if (!jobs) continue;
            jobs[count] = (job){
                u, r, u->rows - r < rows ? u->rows - r : rows, c,
                u->cols - c < cols ? u->cols - c : cols};
        }
    return count;
}

/* --- threads ------------------------------------------------------------------------ */

typedef struct crew {
    pthread_mutex_t lock;
    pthread_cond_t moved;  // any member below changed
    const job *jobs;
    size_t count, next, sent;    // jobs taken; jobs whose buffers are free again
    size_t filled[MAX_BUFFERS];  // 1 + the job that the buffer holds
    size_t odd;                  // the first job with inf or NaN; count: none
    bool stop;
    char *memory;
    size_t room;  // bytes of a buffer
    int buffers;
    wb_dtype dtype;
} crew;

static void *work(void *argument)
{
    crew *w = argument;
    pthread_mutex_lock(&w->lock);
    while (!w->stop && w->next < w->count) {
        size_t j = w->next++, b = j % (size_t)w->buffers;
        while (!w->stop && j >= w->sent + (size_t)w->buffers)
            pthread_cond_wait(&w->moved, &w->lock);
        if (w->stop) break;
        pthread_mutex_unlock(&w->lock);
        char *out = w->memory + b * w->room;
        const job *k = &w->jobs[j];
        fill(out, k, w->dtype);
        bool good =
            all_finite(out, w->dtype, k->rows * k->cols * wb_dtype_size(w->dtype));
        pthread_mutex_lock(&w->lock);
        if (!good && j < w->odd) w->odd = j;
        w->filled[b] = j + 1;
        pthread_cond_broadcast(&w->moved);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void wait_filled(crew *w, size_t j)
{
    pthread_mutex_lock(&w->lock);
    while (w->filled[j % (size_t)w->buffers] != j + 1)
        pthread_cond_wait(&w->moved, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static void set_sent(crew *w, size_t sent, bool stop)
{
    pthread_mutex_lock(&w->lock);
    w->sent = sent, w->stop = stop;
    pthread_cond_broadcast(&w->moved);
    pthread_mutex_unlock(&w->lock);
}

static cudaError_t send_all(crew *w, cudaStream_t stream)
{
    cudaEvent_t sent[MAX_BUFFERS];
    cudaError_t e = cudaSuccess;
    size_t n = (size_t)w->buffers, size = wb_dtype_size(w->dtype);
    for (size_t b = 0; b < n; b++)
        if (cudaEventCreateWithFlags(&sent[b], cudaEventDisableTiming)) n = b;
    if (n < (size_t)w->buffers) e = cudaErrorMemoryAllocation;
    for (size_t j = 0; j < w->count && !e; j++) {
        const job *k = &w->jobs[j];
        size_t at = (k->row * k->u->cols + k->col) * size;
        wait_filled(w, j);
        e = cudaMemcpyAsync(
            (char *)k->u->out + at, w->memory + j % n * w->room, k->rows * k->cols * size,
            cudaMemcpyHostToDevice, stream);
        if (!e) e = cudaEventRecord(sent[j % n], stream);
        if (!e && j) e = cudaEventSynchronize(sent[(j - 1) % n]);
        set_sent(w, j, false);
    }
    cudaError_t last = cudaStreamSynchronize(stream);
    for (size_t b = 0; b < n; b++)
        cudaEventDestroy(sent[b]);
    return e ? e : last;
}

static int run(crew *w, cudaStream_t stream, wb_error *err)
{
    pthread_t thread[MAX_THREADS];
    int threads = 0, wanted = cores_usable(MAX_THREADS);
    w->buffers = wanted + 3;
    cudaError_t e = cudaMallocHost((void **)&w->memory, (size_t)w->buffers * w->room);
    if (e) return error_set(err, "no pinned memory: %s", cudaGetErrorString(e));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->moved, NULL);
    while (threads < wanted && !pthread_create(&thread[threads], NULL, work, w))
        threads++;
    if (threads) e = send_all(w, stream);
    set_sent(w, w->sent, true);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    pthread_cond_destroy(&w->moved);
    pthread_mutex_destroy(&w->lock);
    cudaFreeHost(w->memory);
    if (!threads) return error_set(err, "no thread can be started to read the weights");
    return e ? error_set(err, "copying the weights: %s", cudaGetErrorString(e)) : 0;
}

int upload_all(
    const upload *u, size_t count, wb_dtype dtype, cudaStream_t stream, size_t *odd,
    wb_error *err)
{
    crew w = {.dtype = dtype, .room = JOB_BYTES};
    upload *flat = malloc((count + 1) * sizeof *flat);
    size_t jobs = 0;
    for (size_t i = 0; i < count && flat; i++) {
        flat[i] = flattened(&u[i]);
        jobs += cut(&flat[i], dtype, NULL);
    }
    job *list = malloc((jobs + 1) * sizeof *list);
    for (size_t i = 0; i < count && flat && list; i++)
        w.count += cut(&flat[i], dtype, list + w.count);
    for (size_t i = 0; i < w.count; i++)  // a row may be longer than a job
        if (w.room < list[i].cols * wb_dtype_size(dtype))
            w.room = list[i].cols * wb_dtype_size(dtype);
    w.jobs = list, w.odd = w.count;
    int rc = flat && list ? run(&w, stream, err)
                          : error_set(err, "no memory for a list of %zu matrices", count);
    *odd = rc || w.odd == w.count ? count : (size_t)(list[w.odd].u - flat);
    free(flat);
    free(list);
    return rc;
}
