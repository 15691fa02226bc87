/* reduction.h - the gradients of all ranks added up, while the backward pass still runs.
 *
 * A bucket is a range of the flat buffers whose gradients are complete at the same time:
 * the matrices of a few neighbouring layers, from the last layers to the first; then the
 * rest. As soon as the backward pass completes a bucket, its sum over the ranks is
 * enqueued on a stream of its own. reduction_join lets m->stream wait for that stream.
 *
 * Sharded (ZeRO-1, arXiv 1910.02054): of each bucket every rank owns one part, 1/size of
 * it. The rank gets the summed gradients of its parts only, has moments and master weights
 * of them only, and updates them; then all ranks gather the new weights. A rank's parts
 * are packed: that of bucket [from, from+n) is [from/size, (from+n)/size).
 *
 * With one rank m->reduction is NULL, and the calls do nothing.
 */
#ifndef REDUCTION_H
#define REDUCTION_H
#include "model.h"

typedef struct bucket {
    size_t from, n; /* multiples of 64 */
    int layer;      /* complete when the backward pass has done it; -1: all of it */
} bucket;

typedef struct reduction {
    wb_dtype dtype; /* of what is sent: f32 or bf16 */
    bucket *bucket;
    int count, enqueued;    /* buckets; those of this step */
    wb_bf16 *sent, *summed; /* the largest bucket, and a part of it */
    float *norms;           /* (size) of each rank's parts */
    void *memory;           /* all three */
    cudaStream_t stream;
    cudaEvent_t ready, done;
} reduction;

/* Buckets have at least `bytes` bytes of floats. */
int reduction_open(model *m, wb_dtype dtype, size_t bytes, wb_error *err);
void reduction_close(model *m);

/* Within a step. A layer's backward pass is enqueued; -1: the whole pass. */
void reduction_layer(model *m, int layer);
/* Sums are complete: in m->grad, or sharded in m->shard_grad. Gathered weights too. */
void reduction_join(model *m);
/* Sharded: from the norm of this rank's parts to that of all gradients. */
void reduction_norm(model *m);
/* Sharded: gathers the weights of a bucket. */
void reduction_gather(model *m, const bucket *b);

/* Between steps; all ranks. If the model is sharded, `parts` are this rank's parts of a flat
 * buffer, else all of it. download: h (N) of rank 0 = the whole buffer. upload: parts =
 * this rank's parts of h (N). keep: the same from `all` (N) on the device. */
void reduction_download(const model *m, float *h, const float *parts);
void reduction_upload(const model *m, float *parts, const float *h);
void reduction_keep(const model *m, float *parts, const float *all);

#endif
