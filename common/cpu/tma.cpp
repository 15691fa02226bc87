/* tma.cpp - copies of tiles between device and shared memory (cuda/tma.cuh). A copy waits
 * in a list until it has to happen: a load until no thread can continue, a store until its
 * thread waits for it. */
#include "async.h"
#include "check/hooks.h"

namespace wbcpu
{
/* --- carrying a copy out ------------------------------------------------------------ */

/* `bytes` of a row of the tile: byte `at` of the tile, swizzled, from or to gmem; zeros if
 * gmem is NULL. */
static void copy_row(char *smem, int swizzle, char *gmem, size_t bytes, bool load)
{
    for (size_t done = 0; done < bytes;) {
        char *to = smem + done;
        size_t n = bytes - done;
        if (swizzle) { /* within one chunk of 16 bytes */
            size_t in_chunk = 16 - (uintptr_t)to % 16;
            if (n > in_chunk) n = in_chunk;
            uintptr_t line = (uintptr_t)to >> 7 & (uintptr_t)(swizzle / 16 - 1);
            to = (char *)((uintptr_t)to ^ line << 4);
        }
        if (!load)
            memcpy(gmem + done, to, n);
        else if (gmem)
            memcpy(to, gmem + done, n);
        else
            memset(to, 0, n);
        done += n;
    }
}

/* One row of the box in dimension 0. base: of the row in device memory, NULL if it is out
 * of range. */
static void copy_box_row(const tma_copy &c, char *smem, char *base)
{
    const tensor_map &m = c.map;
    long first = c.at[0], box = m.box[0], size = (long)m.size[0], e = m.element;
    long low =
        first < 0 ? (-first < box ? -first : box) : 0;   /* elements before the tensor */
    long high = size - first < box ? size - first : box; /* the first one after it */
    if (!base || high < low) low = high = box;
    if (c.load) {
        copy_row(smem, m.swizzle, nullptr, (size_t)(low * e), true);
        copy_row(smem + high * e, m.swizzle, nullptr, (size_t)((box - high) * e), true);
    }
    if (base && high > low)
        copy_row(
            smem + low * e, m.swizzle, base + (first + low) * e,
            (size_t)((high - low) * e), c.load);
}

static void copy_tile(const tma_copy &c, char *smem)
{
    const tensor_map &m = c.map;
    if (!m.dims) {
        copy_row(smem, 0, c.gmem, (size_t)c.bytes, c.load);
        return;
    }
    unsigned box[WBCPU_TENSOR_DIMS] = {1, 1, 1, 1}, i[WBCPU_TENSOR_DIMS];
    for (int d = 0; d < m.dims; d++)
        box[d] = m.box[d];
    for (i[3] = 0; i[3] < box[3]; i[3]++)
        for (i[2] = 0; i[2] < box[2]; i[2]++)
            for (i[1] = 0; i[1] < box[1]; i[1]++) {
                char *base = m.base;
                for (int d = 1; d < m.dims && base; d++) {
                    long at = c.at[d] + (long)i[d];
                    bool inside = at >= 0 && at < (long)m.size[d];
                    base = inside ? base + (size_t)at * m.stride[d] : nullptr;
                }
                copy_box_row(c, smem, base);
                smem += m.box[0] * (size_t)m.element;
            }
}

static void load_into(const tma_copy &c, char *smem, uint64_t *barrier)
{
    check::tile_arrives(smem);
    copy_tile(c, smem);
    count_bytes(barrier, -c.bytes);
}

void run_load(worker *, async_block *a, size_t which)
{
    tma_copy c = a->loads[which];
    a->loads.erase(a->loads.begin() + (long)which);
    if (!c.blocks) {
        load_into(c, c.smem, c.barrier);
        return;
    }
    for (int rank = 0; rank < a->of->size; rank++)
        if (c.blocks >> rank & 1)
            load_into(
                c, (char *)wbcpu_cluster_map(c.smem, rank),
                (uint64_t *)wbcpu_cluster_map(c.barrier, rank));
    something_happened(a->of);
}

#define PC __builtin_extract_return_addr(__builtin_return_address(0))

/* --- starting one ------------------------------------------------------------------- */

static void
check_place(const char *function, const void *smem, size_t bytes, size_t align)
{
    if (!in_shared(self(), smem, bytes))
        misuse("calls %s for %zu bytes that are not in shared memory", function, bytes);
    if ((uintptr_t)smem % align)
        misuse(
            "calls %s for an address in shared memory that is not a multiple of %zu bytes",
            function, align);
}
static tma_copy
tile_copy(const tensor_map *map, const int *at, int dims, const char *function)
{
    tma_copy c = {};
    if (!map->dims) misuse("calls %s with a tensor map that was not filled", function);
    if (map->dims != dims)
        misuse(
            "calls %s with %d coordinates; the tensor map has %d dimensions", function,
            dims, map->dims);
    if ((long)at[0] * map->element % 16)
        misuse(
            "calls %s with %d as coordinate of dimension 0: elements of %d bytes must "
            "begin at a multiple of 16 bytes",
            function, at[0], map->element);
    c.map = *map;
    c.bytes = map->element;
    for (int d = 0; d < dims; d++) {
        c.at[d] = at[d];
        c.bytes *= (int)map->box[d];
    }
    c.thread = self()->thread;
    return c;
}
static tma_copy bytes_copy(void *gmem, int bytes, const char *function)
{
    tma_copy c = {};
    if (bytes <= 0 || bytes % 16 || (uintptr_t)gmem % 16)
        misuse(
            "calls %s for %d bytes at %p: both must be multiples of 16", function, bytes,
            gmem);
    c.gmem = (char *)gmem;
    c.bytes = bytes;
    c.thread = self()->thread;
    return c;
}

static void
start_load(tma_copy c, void *smem, uint64_t *barrier, unsigned blocks, const void *pc)
{
    worker *w = self();
    async_block *a = async_of(w);
    if (!in_shared(w, barrier, 8))
        misuse("calls tma_load with an mbarrier that is not in shared memory");
    c.load = true;
    c.smem = (char *)smem;
    c.barrier = barrier;
    c.blocks = blocks;
    if (blocks >> a->of->size)
        misuse(
            "calls tma_load_multicast for blocks %#x of a cluster of %d", blocks,
            a->of->size);
    check::tile_leaves(w, smem, (size_t)c.bytes, pc);
    a->loads.push_back(c);
}
static void start_store(tma_copy c, const void *smem, const void *pc)
{
    worker *w = self();
    c.smem = (char *)const_cast<void *>(smem);
    check::async_reads(w, smem, (size_t)c.bytes, pc);
    async_of(w)->stores[w->thread].copies.push_back(c);
}

extern "C" void wbcpu_tma_load(
    void *smem, const tensor_map *map, uint64_t *barrier, unsigned blocks,
    const int *coordinates, int dims)
{
    tma_copy c = tile_copy(map, coordinates, dims, "tma_load");
    check_place("tma_load", smem, (size_t)c.bytes, 128);
    start_load(c, smem, barrier, blocks, PC);
}
extern "C" void
wbcpu_tma_store(const tensor_map *map, const void *smem, const int *coordinates, int dims)
{
    tma_copy c = tile_copy(map, coordinates, dims, "tma_store");
    for (int d = 0; d < dims; d++)
        if (c.at[d] < 0)
            misuse(
                "calls tma_store with %d as coordinate of dimension %d: only tma_load "
                "allows negative ones",
                c.at[d], d);
    check_place("tma_store", smem, (size_t)c.bytes, 128);
    start_store(c, smem, PC);
}
extern "C" void
wbcpu_tma_load_bytes(void *smem, const void *gmem, int bytes, uint64_t *barrier)
{
    tma_copy c = bytes_copy(const_cast<void *>(gmem), bytes, "tma_load_bytes");
    check_place("tma_load_bytes", smem, (size_t)bytes, 16);
    start_load(c, smem, barrier, 0, PC);
}
extern "C" void wbcpu_tma_store_bytes(void *gmem, const void *smem, int bytes)
{
    tma_copy c = bytes_copy(gmem, bytes, "tma_store_bytes");
    check_place("tma_store_bytes", smem, (size_t)bytes, 16);
    start_store(c, smem, PC);
}

/* --- groups of stores --------------------------------------------------------------- */

extern "C" void wbcpu_tma_commit()
{
    worker *w = self();
    thread_stores &s = async_of(w)->stores[w->thread];
    s.ends.push_back((unsigned)s.copies.size());
}
extern "C" void wbcpu_tma_wait(int newest)
{
    worker *w = self();
    thread_stores &s = async_of(w)->stores[w->thread];
    if ((int)s.ends.size() <= newest) return;
    long groups = (long)s.ends.size() - newest;
    unsigned n = s.ends[(size_t)groups - 1];
    for (unsigned i = 0; i < n; i++)
        copy_tile(s.copies[i], s.copies[i].smem);
    s.copies.erase(s.copies.begin(), s.copies.begin() + n);
    s.ends.erase(s.ends.begin(), s.ends.begin() + groups);
    for (unsigned &end : s.ends)
        end -= n;
}
}  // namespace wbcpu
