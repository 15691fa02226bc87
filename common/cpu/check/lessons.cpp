/* lessons.cpp - two sets of times become one. */
#include "lessons.h"

namespace wbcpu::check
{
/* true: a knows all that b knows. Without an exit from the loop, which becomes vector code. */
static bool covers(const times &a, const times &b)
{
    uint32_t less = a.phase < b.phase;
    for (size_t t = 0; t < a.covered.size(); t++)
        less |= (a.covered[t] < b.covered[t]) | (a.read[t] < b.read[t]);
    return !less;
}

static times_ptr join(const times_ptr &a, const times_ptr &b)
{
    if (covers(*a, *b)) return a;
    if (covers(*b, *a)) return b;
    auto both = std::make_shared<times>(*a);
    for (size_t t = 0; t < both->covered.size(); t++) {
        both->covered[t] = std::max(both->covered[t], b->covered[t]);
        both->read[t] = std::max(both->read[t], b->read[t]);
    }
    both->phase = std::max(both->phase, b->phase);
    return both;
}

/* All threads of a block join the same times, one after another. */
struct join_of {
    times_ptr a, b, both;
};
constexpr size_t joins_kept = 1 << 10;
static join_of *joins = new join_of[joins_kept]; /* the last ones, by their addresses */

times_ptr joined(const times_ptr &a, const times_ptr &b)
{
    if (!a || a == b) return b;
    uintptr_t hash = (uintptr_t)a.get() * 31 + (uintptr_t)b.get();
    join_of &known = joins[(hash ^ hash >> 10) / 16 % joins_kept];
    if (known.a != a || known.b != b) known = {a, b, join(a, b)};
    return known.both;
}
}  // namespace wbcpu::check
