/* ranks.h - the processes of one training, and what they tell each other: MPI between
 * hosts' processes, NCCL between GPUs.
 *
 *     mpirun -np 4 build/cuda/tinylm train ...        srun -n 4 build/cuda/tinylm train ...
 *
 * Every rank runs the same program on its own rows. What "all ranks" do, all must call in
 * the same order, with the same sizes. The engines are optional (tools/mpi.sh): without
 * MPI, or in a CUDA build without NCCL, one rank works and ranks_open refuses more.
 * An error of an engine ends the process, and with it mpirun ends the others.
 */
#ifndef RANKS_H
#define RANKS_H
#include "dtype.h"
#include "wb.h"
#include "wb_error.h"

#include <stdbool.h>

typedef struct ranks {
    int rank, size;       /* 0 and 1: alone */
    int local, neighbours; /* this rank's number on its host, and how many run there */
    struct ncclComm *nccl;
} ranks;

extern const ranks one_rank;

/* Before any other call of CUDA. Started by mpirun or srun: starts MPI, takes GPU `local`
 * of this host, or on the CPU back end a share of its cores (WB_THREADS overrides that).
 * Otherwise: one rank. All ranks. */
int ranks_open(ranks *r, wb_error *err);
void ranks_close(ranks *r);
/* "NCCL 2.27.3", or "Open MPI v4.1.4": what adds up the gradients */
const char *ranks_engines(const ranks *r);

/* --- on the host: all ranks wait for each other ------------------------------------- */

double ranks_sum(const ranks *r, double mine);
int ranks_largest(const ranks *r, int mine);
/* h_all (size,bytes) of rank 0 = every rank's h_mine, in order of rank. */
void ranks_gather(const ranks *r, void *h_all, const void *h_mine, size_t bytes);

/* --- on the device: enqueued on the stream, also while it is captured --------------- */

/* n elements of f32 or bf16, 16-byte aligned; in scatter and gather: each rank's. The
 * sums of bf16 are rounded to bf16 after each addition. All ranks get the same bits, and
 * the same again in every run with this number of ranks on this machine. With one rank
 * nothing happens. */

/* x (n) = sum of all ranks' x */
void ranks_all_reduce(const ranks *r, void *x, size_t n, wb_dtype e, cudaStream_t s);
/* part (n) = elements [rank n, (rank+1) n) of the sum of all ranks' x (size,n) */
void ranks_reduce_scatter(
    const ranks *r, void *part, const void *x, size_t n, wb_dtype e, cudaStream_t s);
/* x (size,n): each rank has filled part `rank`, and gets the other parts. Any dtype. */
void ranks_all_gather(const ranks *r, void *x, size_t n, wb_dtype e, cudaStream_t s);

#endif
