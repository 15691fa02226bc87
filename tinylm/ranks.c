/* ranks.c - see ranks.h: starting, and what is said on the host. */
#include "ranks.h"

#include "cores.h"
#include "cuda_check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
#ifdef WITH_NCCL
#include <nccl.h>
#endif

const ranks one_rank = {.size = 1, .neighbours = 1};

// mpirun and srun tell each process who it is.
static bool started_by_mpi(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i])) return true;
    return false;
}

#ifndef WITH_MPI

int ranks_open(ranks *r, wb_error *err)
{
    *r = one_rank;
    if (!started_by_mpi()) return 0;
    return error_set(
        err, "this program was built for one rank: install Open MPI, and NCCL for GPUs "
             "(make doctor), then run make again");
}

void ranks_close(ranks *r)
{
    *r = one_rank;
}

const char *ranks_engines(const ranks *r)
{
    (void)r;
    return "";
}

double ranks_sum(const ranks *r, double mine)
{
    (void)r;
    return mine;
}

int ranks_largest(const ranks *r, int mine)
{
    (void)r;
    return mine;
}

void ranks_gather(const ranks *r, void *h_all, const void *h_mine, size_t bytes)
{
    (void)r;
    memcpy(h_all, h_mine, bytes);
}

#else

static void count_neighbours(ranks *r)
{
    MPI_Comm host;
    MPI_Comm_split_type(
        MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, r->rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &r->local);
    MPI_Comm_size(host, &r->neighbours);
    MPI_Comm_free(&host);
}

#ifdef WITH_NCCL

static int take_device(ranks *r, wb_error *err)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
    bool missing = r->local >= devices;
    if (!missing) CUDA_CHECK(cudaSetDevice(r->local));
    if (!ranks_largest(r, missing)) return 0;
    return error_set(
        err, "%d ranks on this host, but %d GPUs: start as many ranks as there are GPUs",
        r->neighbours, devices);
}

static void open_nccl(ranks *r)
{
    ncclUniqueId id;
    if (r->rank == 0) ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    ncclResult_t e = ncclCommInitRank(&r->nccl, r->size, id, r->rank);
    if (e == ncclSuccess) return;
    fprintf(
        stderr, "tinylm: rank %d: NCCL cannot start: %s: %s\n", r->rank,
        ncclGetErrorString(e), ncclGetLastError(NULL));
    exit(1);
}

#else

// Each rank's share of this host's cores.
static int take_device(ranks *r, wb_error *err)
{
    (void)err;
    char threads[16];
    int share = cores_usable(INT_MAX) / r->neighbours;
    snprintf(threads, sizeof threads, "%d", share < 1 ? 1 : share);
    setenv("WB_THREADS", threads, 0);
    return 0;
}

#endif

int ranks_open(ranks *r, wb_error *err)
{
    *r = one_rank;
    if (!started_by_mpi()) return 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->size);
    count_neighbours(r);
    if (take_device(r, err)) return -1;
#ifdef WITH_NCCL
    if (r->size > 1) open_nccl(r);
#endif
    return 0;
}

void ranks_close(ranks *r)
{
    int started = 0;
#ifdef WITH_NCCL
    if (r->nccl) ncclCommDestroy(r->nccl);
#endif
    MPI_Initialized(&started);
    if (started) MPI_Finalize();
    *r = one_rank;
}

const char *ranks_engines(const ranks *r)
{
    static char text[80];
    (void)r;
#ifdef WITH_NCCL
    int v = 0;
    ncclGetVersion(&v);
    snprintf(text, sizeof text, "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
#else
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    snprintf(text, sizeof text, "%.*s", (int)strcspn(library, ",\n"), library);
#endif
    return text;
}

double ranks_sum(const ranks *r, double mine)
{
    double sum = mine;
    if (r->size > 1) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

int ranks_largest(const ranks *r, int mine)
{
    int largest = mine;
    if (r->size > 1) MPI_Allreduce(&mine, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

// In pieces that an int can count.
void ranks_gather(const ranks *r, void *h_all, const void *h_mine, size_t bytes)
{
    if (r->size == 1) {
        memcpy(h_all, h_mine, bytes);
        return;
    }
    enum { PIECE = 1 << 26, TAG = 1 };
    for (size_t at = 0; at < bytes; at += PIECE) {
        int n = bytes - at < PIECE ? (int)(bytes - at) : PIECE;
        const char *from = (const char *)h_mine + at;
        if (r->rank) {
            MPI_Send(from, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
            continue;
        }
        memcpy((char *)h_all + at, from, (size_t)n);
        for (int i = 1; i < r->size; i++)
            MPI_Recv(
                (char *)h_all + (size_t)i * bytes + at, n, MPI_BYTE, i, TAG,
                MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

#endif
