/* signals.cpp - __threadfence and atomic operations: what a write publishes, and what the
 * threads that read it atomically learn. Barriers in shared memory are such words, too.
 */
#include "../async.h"
#include "../include/wbcpu/mbarrier.h"
#include "cluster.h"
#include "hooks.h"
#include "lessons.h"

#include <algorithm>
#include <string.h>
#include <unordered_map>

namespace wbcpu::check
{
/* What a thread knew when it last wrote an address: if that is unchanged, there is nothing
 * to publish again. */
struct edition {
    unsigned thread;
    uint32_t fence, syncs, learned;
    bool operator==(const edition &e) const
    {
        return thread == e.thread && fence == e.fence && syncs == e.syncs &&
               learned == e.learned;
    }
};
struct signal_word {
    std::map<uint64_t, times_ptr> of_block; /* what an atomic read of it teaches */
    uint64_t block;                         /* that wrote last */
    edition last;
    uint64_t phase = 0; /* of a barrier: 1 + its number; 0: none */
};
bool signals;
static uint32_t learned; /* how often something was learned */
static auto &published = *new std::unordered_map<uintptr_t, signal_word>;

void forget_signals()
{
    signals = false;
    published.clear();
}
void forget_signals_of_block()
{
    const uintptr_t named = (uintptr_t)self()->async; /* barriers */
    for (auto i = published.begin(); i != published.end();) {
        bool own = rank_of(i->first) == current.rank ||
                   (named && i->first - named < sizeof(async_block));
        i = own ? published.erase(i) : std::next(i);
    }
}

/* --- an atomic operation ------------------------------------------------------------ */

/* known_time of all threads of the block, together: with few branches */
static void known_times(worker *w, uint32_t *known)
{
    unsigned me = w->thread, first = me / 32 * 32;
    memcpy(known, here->at_barrier, w->threads * sizeof *known);
    if (uint32_t phase = here->phase[me])
        for (unsigned t = 0; t < w->threads; t++)
            known[t] = std::max(known[t], arrival_time(phase, current.rank, t));
    for (unsigned t = first; t < std::min(first + 32, w->threads); t++)
        known[t] = known_time(me, t);
}

/* What the running thread publishes of its own block, and what is published already */
static times_ptr own_times(worker *w, const times *before)
{
    auto mine = std::make_shared<times>();
    unsigned me = w->thread;
    bool fresh = here->fence[me] && here->fence_syncs[me] == here->syncs;
    mine->read.resize(w->threads);
    known_times(w, mine->read.data());
    mine->covered = mine->read;
    uint32_t *covered = mine->covered.data(), *read = mine->read.data();
    for (unsigned t = 0; !fresh && t < w->threads; t++)
        covered[t] = std::min(covered[t], here->fence[t]);
    covered[me] = here->fence[me];
    read[me] = advance(me);
    mine->phase = here->phase[me];
    if (before) mine->add(*before);
    return mine;
}

static void learn(worker *w, uint64_t block, const times_ptr &what)
{
    if (rank_in_cluster(block) >= 0) learn_phase(w, what->phase);
    lesson &known = here->learned[block].of(w->thread);
    if (known.what == what) return;
    known.what = joined(known.what, what);
    known.time = here->now[w->thread];
    learned++;
}

/* Which accesses in its block happened before what the running thread does now, by what it
 * learned, or a thread that it has synchronized with since. The same as learned_of for all
 * threads together, because publish asks for each: in a block of 384 threads that wait at an
 * mbarrier, that would be 384 times 384 steps. */
static std::vector<uint32_t> learned_times(worker *w)
{
    std::vector<uint32_t> known(w->threads);
    const times *last = nullptr; /* most threads learned the same */
    for (const lesson &from : here->learned[w->block].all) {
        if (from.what.get() == last) continue;
        if (from.thread != w->thread && from.time > known_time(w->thread, from.thread))
            continue;
        last = from.what.get();
        for (unsigned t = 0; t < w->threads; t++)
            known[t] = std::max(known[t], last->covered[t]);
    }
    return known;
}

static void publish(worker *w, signal_word *word)
{
    unsigned me = w->thread;
    std::vector<uint32_t> known = learned_times(w);
    for (auto &[block, lessons_of] : here->learned) {
        const times *last = nullptr;
        for (const lesson &from : lessons_of.all) {
            unsigned by = from.thread;
            if (from.what.get() == last) continue;
            if (by != me && from.time > std::max(known_time(me, by), known[by])) continue;
            last = from.what.get();
            times_ptr &taught = word->of_block[block];
            taught = joined(taught, from.what);
        }
    }
    times_ptr &own = word->of_block[w->block];
    own = own_times(w, own.get());
}

static void publish_news(worker *w, signal_word &word)
{
    edition now = {w->thread, here->fence[w->thread], here->syncs, learned};
    if (!word.of_block.empty() && word.block == w->block && now == word.last) return;
    word.last = now;
    word.block = w->block;
    publish(w, &word);
}

void order_atomic(worker *w, const access &a)
{
    if (a.polled && a.write) signals = true;
    if (!signals) return;
    signal_word &word = published[a.address];
    for (auto &of_block : word.of_block)
        learn(w, of_block.first, of_block.second);
    if (a.write) publish_news(w, word);
}

/* --- barriers ----------------------------------------------------------------------- */

/* A wait teaches what was known at the arrivals of its phase, and of those before, not of
 * later ones. Two phases are kept. */
static uintptr_t word_of(const void *barrier, uint64_t phase)
{
    return (uintptr_t)barrier + 4 * (phase & 1);
}
static void arrives_fenced(worker *w, const void *barrier, uint64_t phase)
{
    signal_word &word = published[word_of(barrier, phase)];
    if (word.phase != phase + 1) {
        word = {};
        auto before = published.find(word_of(barrier, phase + 1));
        if (before != published.end()) word.of_block = before->second.of_block;
        word.phase = phase + 1;
        word.block = ~0ull;
    }
    publish_news(w, word);
}
void arrives(worker *w, const void *barrier, uint64_t phase)
{
    fenced(w);
    arrives_fenced(w, barrier, phase);
}
void waited(worker *w, const void *barrier, uint64_t phase)
{
    auto word = published.find(word_of(barrier, phase));
    if (word == published.end()) return; /* a phase before the first */
    for (auto &of_block : word->second.of_block)
        learn(w, of_block.first, of_block.second);
}
extern "C" void wbcpu_mbarrier_arrives(uint64_t *barrier)
{
    if (wbcpu_self) arrives_fenced(self(), barrier, wbcpu_mbarrier_phase(*barrier));
}
extern "C" void wbcpu_mbarrier_waited(uint64_t *barrier, uint64_t phase)
{
    if (wbcpu_self) waited(self(), barrier, phase);
}
void forget_barrier(const void *barrier)
{
    published.erase(word_of(barrier, 0));
    published.erase(word_of(barrier, 1));
}

/* --- what was learned --------------------------------------------------------------- */

static bool teaches(const lesson &l, unsigned before, uint32_t time, bool was_read)
{
    return time <= (was_read ? l.what->read : l.what->covered)[before];
}

bool learned_of(
    uint64_t block, unsigned thread, unsigned before, uint32_t time, bool was_read)
{
    auto list = here->learned.find(block);
    if (list == here->learned.end()) return false;
    lessons &of = list->second;
    /* First what it learned itself: each thread that waits at an mbarrier learns. */
    auto own = of.find(thread);
    if (own != of.all.end() && own->thread == thread &&
        teaches(*own, before, time, was_read))
        return true;
    for (const lesson &from : of.all)
        if (from.time <= known_time(thread, from.thread) &&
            teaches(from, before, time, was_read))
            return true;
    return false;
}

/* What threads of a cluster have learned of other clusters, they tell each other. */
static auto &told = *new std::map<uint64_t, times_ptr>;

void forget_shared_lessons()
{
    told.clear();
}
void share_lessons()
{
    for (auto &block : here->learned)
        for (const lesson &from : block.second.all)
            if (rank_in_cluster(block.first) < 0)
                told[block.first] = joined(told[block.first], from.what);
}
void take_lessons(worker *w)
{
    for (auto &block : told)
        learn(w, block.first, block.second);
}
}  // namespace wbcpu::check
