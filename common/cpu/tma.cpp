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

/* One row of the tile in dimension 0. Its bytes from `low` to `high` lie in the tensor, from
 * gmem on; those of a load that do not are zeros. */
struct tile_row {
    char *gmem;
    size_t low, high, bytes;
};

/* base: of the row in device memory, NULL if it is out of range */
static tile_row row_of(const tma_copy &c, char *base)
{
    const tensor_map &m = c.map;
    long first = c.at[0], box = m.box[0], size = (long)m.size[0], e = m.element;
    long low =
        first < 0 ? (-first < box ? -first : box) : 0;   /* elements before the tensor */
    long high = size - first < box ? size - first : box; /* the first one after it */
    if (!base || high < low) return {nullptr, 0, 0, (size_t)(box * e)};
    return {
        base + (first + low) * e, (size_t)(low * e), (size_t)(high * e),
        (size_t)(box * e)};
}

/* Calls f(row) for each row of the tile, in the order of shared memory. */
template <class F> static void each_row(const tma_copy &c, F f)
{
    const tensor_map &m = c.map;
    if (!m.dims) {
        f(tile_row{c.gmem, 0, (size_t)c.bytes, (size_t)c.bytes});
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
                f(row_of(c, base));
            }
}

static void copy_tile(const tma_copy &c)
{
    char *smem = c.smem;
    int swizzle = c.map.dims ? c.map.swizzle : 0;
    each_row(c, [&](const tile_row &r) {
        if (c.load) copy_row(smem, swizzle, nullptr, r.low, true);
        copy_row(smem + r.low, swizzle, r.gmem, r.high - r.low, c.load);
        if (c.load) copy_row(smem + r.high, swizzle, nullptr, r.bytes - r.high, true);
        smem += r.bytes;
    });
}

/* The running thread copies the tile: its part in device memory. */
static void note_tile(const tma_copy &c)
{
    if (!check::enabled) return;
    check::tile_begins(self(), c.load, c.pc);
    each_row(c, [&](const tile_row &r) {
        if (r.gmem) check::tile_row(r.gmem, r.high - r.low, c.load, c.pc);
    });
}

void run_load(std::vector<tma_copy> *loads)
{
    tma_copy c = loads->front();
    loads->erase(loads->begin());
    check::tile_arrives(c.smem);
    copy_tile(c);
    count_bytes(c.barrier, -c.bytes);
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
    c.pc = pc;
    if (blocks >> a->of->size)
        misuse(
            "calls tma_load_multicast for blocks %#x of a cluster of %d", blocks,
            a->of->size);
    note_tile(c);
    if (!blocks) {
        check::tile_leaves(w, smem, (size_t)c.bytes, pc);
        a->loads.push_back(c);
    }
    for (c.rank = 0; blocks >> c.rank; c.rank++) {
        if (!(blocks >> c.rank & 1)) continue;
        c.smem = (char *)wbcpu_cluster_map(smem, c.rank);
        c.barrier = (uint64_t *)wbcpu_cluster_map(barrier, c.rank);
        check::tile_leaves(w, c.smem, (size_t)c.bytes, pc);
        std::lock_guard<std::mutex> hold(a->of->lock);
        a->of->loads.push_back(c);
    }
}
static void start_store(tma_copy c, const void *smem, const void *pc)
{
    worker *w = self();
    c.smem = (char *)const_cast<void *>(smem);
    c.pc = pc;
    check::async_reads(w, smem, (size_t)c.bytes, pc);
    check::store_leaves(w, c.smem, (size_t)c.bytes, pc);
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
    for (unsigned i = 0; i < n; i++) {
        check::store_has_read(s.copies[i].smem);
        note_tile(s.copies[i]);
        copy_tile(s.copies[i]);
    }
    s.copies.erase(s.copies.begin(), s.copies.begin() + n);
    s.ends.erase(s.ends.begin(), s.ends.begin() + groups);
    for (unsigned &end : s.ends)
        end -= n;
}
}  // namespace wbcpu
