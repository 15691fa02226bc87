/* lessons.cpp - two sets of times become one. */
#include "lessons.h"

namespace wbcpu::check
{
void times::add(const times &more)
{
    for (size_t t = 0; t < covered.size(); t++) {
        covered[t] = std::max(covered[t], more.covered[t]);
        read[t] = std::max(read[t], more.read[t]);
    }
    phase = std::max(phase, more.phase);
}

static times_ptr join(const times_ptr &a, const times_ptr &b)
{
    uint32_t a_lacks = a->phase < b->phase, b_lacks = b->phase < a->phase;
    const uint32_t *ac = a->covered.data(), *ar = a->read.data();
    const uint32_t *bc = b->covered.data(), *br = b->read.data();
    for (size_t t = 0; t < a->covered.size(); t++) { /* no exit: becomes vector code */
        a_lacks |= (ac[t] < bc[t]) | (ar[t] < br[t]);
        b_lacks |= (bc[t] < ac[t]) | (br[t] < ar[t]);
    }
    if (!a_lacks) return a;
    if (!b_lacks) return b;
    auto both = std::make_shared<times>(*a);
    both->add(*b);
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
