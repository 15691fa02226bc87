/* counts.h - what counts.cpp and its neighbours share; internal to check mode.
 *
 *     log.h             what each lane of a warp does
 *     counts.cpp        accesses of the lanes of a warp become requests
 *     align.cpp         the same where the lanes took different paths
 *     sectors.cpp       global requests: sectors, bytes per buffer, the L2 model
 *     conflicts.cpp     shared requests: wavefronts
 *     kernels_json.cpp  the report
 *     gpus.cpp          L2 sizes and copy bandwidths of GPUs
 */
#ifndef WBCPU_CHECK_COUNTS_H
#define WBCPU_CHECK_COUNTS_H

#include "log.h"

#include <map>
#include <vector>

namespace wbcpu::check
{
/* How the hardware performs an access. ASYNC: cp.async. TMA_LOAD, TMA_STORE: of a tile.
 * MATRIX: ldmatrix, a read. */
enum access_kind : uint8_t { READ, WRITE, ATOMIC, ASYNC, TMA_LOAD, TMA_STORE, MATRIX };

/* One instruction, executed once by some lanes of a warp. */
struct request {
    site *at;
    bool shared;
    unsigned bytes; /* per lane */
    uint32_t lanes;
    uint64_t offset[32]; /* from the start of device memory or thread-local storage */
    request() : at(nullptr), lanes(0) {} /* the rest is set with each lane */
};

/* Lane l at offset[0] + l * bytes, all 32 lanes: the usual case. */
inline bool contiguous(const request &r)
{
    uint64_t differ = r.lanes ^ 0xffffffff;
    for (unsigned l = 0; l < 32; l++)
        differ |= r.offset[l] ^ (r.offset[0] + l * r.bytes);
    return !differ;
}

/* passes: sectors of 32 bytes, or wavefronts of shared memory. bytes: a byte that several
 * lanes of a request touch counts once. ideal: the fewest passes for these bytes. */
struct passes {
    unsigned count, ideal, bytes;
};
struct tally {
    unsigned long long requests, count, ideal, bytes;
};

struct site_tally {
    tally sum;
    passes worst_cost; /* of the request with the largest count / ideal */
    request worst;
    uint64_t buffer_start, buffer_bytes; /* the buffer that it touched last */
    unsigned buffer;                     /* index in kernel_tally::buffers */
};
struct buffer_tally {
    std::string name;
    size_t bytes;
    const place *at;                              /* NULL: unknown */
    unsigned long long requested[2], distinct[2]; /* bytes read, written */
};
enum { SHUFFLE, SYNC, VOTE, REDUCE, MATCH, MATRIX_OP, COLLECTIVES };
struct line_events {
    unsigned long long barriers, collectives[COLLECTIVES];
};

/* Sums over the launches of one kernel. */
struct kernel_tally {
    std::string name, file;
    int line;
    dim3 grid, block; /* of the last launch */
    size_t shared_bytes;
    unsigned long long launches, blocks, warps, barriers, collectives[COLLECTIVES];
    unsigned long long float_atomics;     /* of threads */
    unsigned long long tensor;            /* multiply-adds on tensor cores */
    unsigned long long dram[2], least[2]; /* bytes read, written */
    std::vector<buffer_tally> buffers;
    std::vector<site_tally *> sites; /* [2 * number of the site + shared] */
    std::map<const void *, line_events> events;
};
extern std::vector<kernel_tally *> &kernels;

access_kind kind_of(const site *at);
void count_as(const site *at, access_kind kind);
/* TMA copies a tile, and these bytes of it, from this offset in global memory */
void count_tile(const site *at);
void count_tile_row(const site *at, uint64_t offset, size_t bytes);
extern bool count_nothing; /* accesses are made for their findings only: */
void pause_counts(bool begins);
void take(const request &r); /* adds a request to the running kernel's sums */

/* align.cpp */
inline request *unpack(request *r, uint64_t entry)
{
    r->at = site_number((unsigned)(entry >> 48));
    r->shared = entry >> 47 & 1;
    r->bytes = 1u << (entry >> 44 & 7);
    return r;
}
/* From entry `first` on, the lanes took different paths. */
void align(const lane_log *logs, uint32_t lanes, unsigned first);

/* sectors.cpp */
void begin_sectors(); /* a launch begins with an empty L2 cache */
passes count_sectors(kernel_tally *k, site_tally *s, const request &r, access_kind kind);
passes
count_range(kernel_tally *k, site_tally *s, uint64_t offset, size_t bytes, bool write);

/* conflicts.cpp */
passes count_wavefronts(const request &r, access_kind kind);

/* gpus.cpp */
struct gpu {
    const char *name, *label;
    unsigned long long l2_bytes;
    double copy_gb_s; /* of a device-to-device copy, reads plus writes */
    bool measured;    /* false: the memory bandwidth of the data sheet */
    int sms;
    double clock_ghz; /* boost, of the data sheet */
};
const gpu &chosen_gpu(); /* WB_CHECK_GPU */
std::string gpu_json();  /* the object "gpu" of the report */
}  // namespace wbcpu::check

#endif
