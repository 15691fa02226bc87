/* align.cpp - which accesses of diverged lanes belong to one request.
 *
 * Two lanes execute an instruction together if both are in the same iteration of the same
 * loops. Loops are found in a lane's log: an instruction at a lower or equal address than
 * the one before it begins the next iteration of the loop that lies between the two. So
 *
 *     for (i = 0; i < n; i++) { s += x[i]; if (odd) s += y[i]; }
 *
 * pairs the y[i] of the same i although some lanes skip some of them. A lane that skips an
 * iteration without any access leaves no trace; its n-th execution counts as the n-th.
 */
#include "counts.h"

namespace wbcpu::check
{
struct loop {
    uintptr_t first, last; /* instructions */
    unsigned iteration;
};

/* Where a lane is: the loops around its last access, innermost last. */
struct path {
    std::vector<loop> loops;
    uintptr_t at;
};

static void advance(path *p, uintptr_t to)
{
    std::vector<loop> &l = p->loops;
    if (to > p->at) {
        while (!l.empty() && to > l.back().last)
            l.pop_back();
    } else {
        while (!l.empty() && l.back().first >= to && l.back().last < p->at)
            l.pop_back(); /* loops inside this one */
        if (l.empty() || l.back().first != to || l.back().last != p->at)
            l.push_back({to, p->at, 0});
        l.back().iteration++;
    }
    p->at = to;
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

static void add_lane(table *t, const lane_log &log, unsigned lane, unsigned first)
{
    path p = {{}, 0};
    for (unsigned i = first; i < log.used; i++) {
        uint64_t e = log.entry[i];
        const site *s = site_number((unsigned)(e >> 48));
        advance(&p, (uintptr_t)s->pc * 2 + s->write);
        uint64_t key = key_of(p, e & ~offset_bits);
        request *r = find_or_add(t, key);
        while (r->lanes >> lane & 1) /* a loop that was not recognized */
            r = find_or_add(t, key = mix(key, 1));
        unpack(r, e);
        r->lanes |= 1u << lane;
        r->offset[lane] = e & offset_bits;
    }
}

void align(const lane_log *logs, uint32_t lanes, unsigned first)
{
    static table t;
    for (; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);
        add_lane(&t, logs[lane], lane, first);
    }
    for (const request &r : t.requests)
        take(r);
    t.key.clear();
    t.requests.clear();
    t.slots.assign(t.slots.size(), 0);
}
}  // namespace wbcpu::check
