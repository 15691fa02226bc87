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
    uint64_t outer; /* the hash of the loops around it; they stay in their iterations */
};
/* Where a lane is: the loops around the current block, innermost last, and their hash. */
struct path {
    std::vector<loop> loops;
    uint64_t block, hash;
};
/* The last block of the loop that begins with a block, of its iterations so far */
static uint64_t &last_block(uint64_t first)
{
    struct known {
        uint64_t first, *last;
    };
    static known recent[1 << 8];
    static auto &all = *new std::unordered_map<uint64_t, uint64_t>;
    known &k = recent[(first ^ first >> 8) % (1 << 8)];
    if (k.first != first) k = {first, &all[first]};
    return *k.last;
}

/* Updates last_block from the blocks among the entries [first, end) of a log. `block` is
 * the block before them. Returns the last of them, or `block` if there are none. */
static uint64_t
learn_loops(const lane_log &log, unsigned first, unsigned end, uint64_t block)
{
    uint64_t jump[2] = {}; /* the last one, from and to */
    for (unsigned i = first; i < end; i++) {
        uint64_t to = log.entry[i];
        if (!is_block(to)) continue;
        if (to <= block && (block != jump[0] || to != jump[1])) {
            uint64_t &last = last_block(to);
            if (block > last) last = block;
            jump[0] = block, jump[1] = to;
        }
        block = to;
    }
    return block;
}

static uint64_t mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

static uint64_t hash_of(const std::vector<loop> &loops)
{
    if (loops.empty()) return 1;
    const loop &l = loops.back();
    return mix(mix(l.outer, l.first), l.iteration);
}

static void advance(path *p, uint64_t to)
{
    std::vector<loop> &l = p->loops;
    bool inside = l.empty() || to <= l.back().last, further = to > p->block;
    p->block = to;
    if (further && inside) return;
    if (further) {
        while (!l.empty() && to > l.back().last)
            l.pop_back();
    } else {
        while (!l.empty() && l.back().first > to)
            l.pop_back();
        if (l.empty() || l.back().first != to)
            l.push_back({to, last_block(to), 0, hash_of(l)});
        l.back().iteration++;
    }
    p->hash = hash_of(l);
}

/* Of a hash table from keys to requests, with open addressing and 2^n slots. */
struct slot {
    uint64_t key;
    uint32_t number;      /* of the request, from 1 */
    uint32_t lane, times; /* how often this lane has come here so far */
    uint32_t use;         /* of the table; of an earlier one: empty */
};
struct table {
    std::vector<request> requests;
    std::vector<uint64_t> keys; /* of the requests */
    std::vector<slot> slots;
    uint32_t use;
};

/* The slot of a key: its own, or the empty one where it belongs */
static slot *slot_of(table *t, uint64_t key)
{
    size_t mask = t->slots.size() - 1, i = key & mask;
    while (t->slots[i].use == t->use && t->slots[i].key != key)
        i = (i + 1) & mask;
    return &t->slots[i];
}

static void enlarge(table *t)
{
    std::vector<slot> old(t->slots.empty() ? 512 : 2 * t->slots.size());
    old.swap(t->slots);
    for (const slot &s : old)
        if (s.use == t->use) *slot_of(t, s.key) = s;
}

static slot *find_or_add(table *t, uint64_t key, unsigned lane)
{
    if (2 * t->requests.size() >= t->slots.size()) enlarge(t);
    slot *s = slot_of(t, key);
    if (s->use != t->use) {
        t->requests.emplace_back();
        t->keys.push_back(key);
        *s = {key, (uint32_t)t->requests.size(), lane, 0, t->use};
    }
    if (s->lane != lane) {
        s->lane = lane;
        s->times = t->requests[s->number - 1].lanes >> lane & 1; /* as expected below */
    }
    s->times++;
    return s;
}

static void add_lane(table *t, const lane_log &log, unsigned lane, unsigned first, path p)
{
    size_t next = 0; /* the request that probably comes next, as for the lane before */
    for (unsigned i = first; i < log.used; i++) {
        uint64_t e = log.entry[i];
        if (is_block(e)) {
            advance(&p, e);
            continue;
        }
        uint64_t key = mix(p.hash, e & ~offset_bits);
        bool expected = next < t->keys.size() && t->keys[next] == key &&
                        !(t->requests[next].lanes >> lane & 1);
        if (!expected) {
            slot *s = find_or_add(t, key, lane);
            if (s->times > 1) /* the same access again, in the same basic block */
                s = find_or_add(t, mix(key, s->times), lane);
            next = s->number - 1;
        }
        request *r = unpack(&t->requests[next++], e);
        r->lanes |= 1u << lane;
        r->offset[lane] = e & offset_bits;
    }
}

void align(const lane_log *logs, uint32_t lanes, unsigned first)
{
    static table t;
    const lane_log &any = logs[__builtin_ctz(lanes)];
    /* Before `first` all logs agree: the lanes diverge after this block. */
    uint64_t common_block = learn_loops(any, 0, first, 0);
    for (uint32_t m = lanes; m; m &= m - 1) {
        const lane_log &log = logs[__builtin_ctz(m)];
        learn_loops(log, first, log.used, common_block);
    }
    path common = {{}, 0, hash_of({})};
    for (unsigned i = 0; i < first; i++)
        if (is_block(any.entry[i])) advance(&common, any.entry[i]);
    t.use++;
    for (uint32_t m = lanes; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        add_lane(&t, logs[lane], lane, first, common);
    }
    for (const request &r : t.requests)
        take(r);
    t.requests.clear();
    t.keys.clear();
}
}  // namespace wbcpu::check
