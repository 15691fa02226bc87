/* align.cpp - which accesses of diverged lanes belong to one request.
 *
 * Two lanes execute an instruction together if both are in the same iteration of the same
 * loops. A lane's log of basic blocks shows its loops: a jump to a lower address, or to
 * the same block, begins an iteration of the loop between the target and the jump. So
 *
 *     for (i = 0; i < n; i++)
 *         if ((i + lane) % 2) s += x[i];
 *
 * pairs the x[i] of the same i although each lane skips some of them.
 */
#include "counts.h"

#include <unordered_map>

namespace wbcpu::check
{
struct loop {
    uint64_t first, last; /* blocks */
    unsigned iteration;
};
/* Where a lane is: the loops around the current block, innermost last. */
struct path {
    std::vector<loop> loops;
    uint64_t block;
};
/* The last block of the loop that begins with a block, of its iterations so far */
static std::unordered_map<uint64_t, uint64_t> &last_block =
    *new std::unordered_map<uint64_t, uint64_t>;

static void learn_loops(const lane_log &log, unsigned first, uint64_t block)
{
    for (unsigned i = first; i < log.used; i++) {
        uint64_t to = log.entry[i];
        if (!is_block(to)) continue;
        if (to <= block) {
            uint64_t &last = last_block[to];
            if (block > last) last = block;
        }
        block = to;
    }
}

static void advance(path *p, uint64_t to)
{
    std::vector<loop> &l = p->loops;
    if (to > p->block) {
        while (!l.empty() && to > l.back().last)
            l.pop_back();
    } else {
        while (!l.empty() && l.back().first > to)
            l.pop_back();
        if (l.empty() || l.back().first != to) l.push_back({to, last_block[to], 0});
        l.back().iteration++;
    }
    p->block = to;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t key_of(const path &p, uint64_t instruction)
{
    uint64_t h = mix(1, instruction);
    for (const loop &l : p.loops)
        h = mix(mix(h, l.first), l.iteration);
    return h;
}

/* Requests by key. A slot holds the number of a request, from 1. */
struct table {
    std::vector<uint64_t> key;
    std::vector<request> requests;
    std::vector<uint32_t> slots;
};

static void place_in(table *t, uint32_t number)
{
    size_t size = t->slots.size(), i = t->key[number - 1] % size;
    while (t->slots[i])
        i = (i + 1) % size;
    t->slots[i] = number;
}

static request *find_or_add(table *t, uint64_t key)
{
    size_t size = t->slots.size();
    if (size)
        for (size_t i = key % size; t->slots[i]; i = (i + 1) % size)
            if (t->key[t->slots[i] - 1] == key) return &t->requests[t->slots[i] - 1];
    t->key.push_back(key);
    t->requests.push_back({});
    if (t->key.size() * 2 > size) {
        t->slots.assign(size ? 2 * size : 1024, 0);
        for (uint32_t n = 1; n <= t->key.size(); n++)
            place_in(t, n);
    } else {
        place_in(t, (uint32_t)t->key.size());
    }
    return &t->requests.back();
}

static void
add_lane(table *t, const lane_log &log, unsigned lane, unsigned first, uint64_t block)
{
    path p = {{}, block};
    for (unsigned i = first; i < log.used; i++) {
        uint64_t e = log.entry[i];
        if (is_block(e)) {
            advance(&p, e);
            continue;
        }
        uint64_t key = key_of(p, e & ~offset_bits);
        request *r = find_or_add(t, key);
        while (r->lanes >> lane & 1) /* again, in the same block */
            r = find_or_add(t, key = mix(key, 1));
        unpack(r, e);
        r->lanes |= 1u << lane;
        r->offset[lane] = e & offset_bits;
    }
}

/* The block in which the lanes part, or 0 */
static uint64_t last_common_block(const lane_log &log, unsigned first)
{
    while (first--)
        if (is_block(log.entry[first])) return log.entry[first];
    return 0;
}

void align(const lane_log *logs, uint32_t lanes, unsigned first)
{
    static table t;
    uint64_t block = last_common_block(logs[__builtin_ctz(lanes)], first);
    for (uint32_t m = lanes; m; m &= m - 1)
        learn_loops(logs[__builtin_ctz(m)], first, block);
    for (uint32_t m = lanes; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        add_lane(&t, logs[lane], lane, first, block);
    }
    for (const request &r : t.requests)
        take(r);
    t.key.clear();
    t.requests.clear();
    t.slots.assign(t.slots.size(), 0);
}
}  // namespace wbcpu::check
