/* mbarrier.h - a barrier in shared memory at which threads arrive and wait separately, as
 * with the mbarrier instructions of sm_80. A phase ends when the expected number of
 * arrivals has come; the next phase begins immediately. Arrivals release and successful
 * waits acquire: what a thread wrote before it arrived may be read after the phase has
 * ended.
 *
 * The word: arrivals missing in this phase (20 bits), arrivals expected in the next one
 * (20 bits), number of the phase modulo 8 (3 bits), and the bytes that this phase expects
 * from TMA and that have not been copied yet (tx-count, 21 bits, signed).
 */
#ifndef WBCPU_MBARRIER_H
#define WBCPU_MBARRIER_H

#include "atomic.h"
#include "checked.h"
#include "hopper.h"

constexpr uint32_t WBCPU_MBARRIER_MAX = (1 << 20) - 1;

WBCPU_INLINE uint64_t
wbcpu_mbarrier_word(uint64_t missing, uint64_t expected, uint64_t phase, int64_t bytes)
{
    if (!missing && !bytes) missing = expected, phase++;
    return missing | expected << 20 | (phase & 7) << 40 | (uint64_t)bytes << 43;
}
WBCPU_INLINE uint64_t wbcpu_mbarrier_phase(uint64_t word)
{
    return word >> 40 & 7;
}
WBCPU_INLINE int64_t wbcpu_mbarrier_bytes(uint64_t word)
{
    return (int64_t)word >> 43;
}
WBCPU_INLINE void wbcpu_mbarrier_init(uint64_t *b, uint32_t expected)
{
    *b = wbcpu_mbarrier_word(expected, expected, 0, 0);
    wbcpu_mbarrier_made(b);
}

/* Returns the word before the arrival, whose phase is the one to wait for. drop: later
 * phases expect that many arrivals fewer. bytes: the phase expects so many more; negative:
 * so many have come. */
WBCPU_INLINE uint64_t
wbcpu_mbarrier_arrive(uint64_t *b, uint32_t count, bool drop, int32_t bytes = 0)
{
    wbcpu_mbarrier_used(b);
    __threadfence_block();
    wbcpu_mbarrier_arrives(b);
    return wbcpu::atomic_update<uint64_t>(b, [=](uint64_t word) -> uint64_t {
        uint64_t missing = word & WBCPU_MBARRIER_MAX;
        uint64_t expected = (word >> 20 & WBCPU_MBARRIER_MAX) - (drop ? count : 0);
        if (missing < count) wbcpu_mbarrier_misused("gets more arrivals than its count");
        return wbcpu_mbarrier_word(
            missing - count, expected, wbcpu_mbarrier_phase(word),
            wbcpu_mbarrier_bytes(word) + bytes);
    });
}

/* Has the last phase of this parity ended? If not, another thread of the block runs
 * first. */
WBCPU_INLINE bool wbcpu_mbarrier_ended(uint64_t *b, bool parity)
{
    wbcpu_mbarrier_used(b);
    uint64_t now = __atomic_load_n(b, __ATOMIC_ACQUIRE); /* publishes nothing */
    uint64_t phase = wbcpu_mbarrier_phase(now);
    if ((phase & 1) == parity) {
        wbcpu_yield();
        return false;
    }
    wbcpu_mbarrier_waited(b, (phase - 1) & 7);
    wbcpu_copy_ended(b, phase);
    return true;
}
/* Waits for it. A thread that waits uses no time: deadlocks are found. */
WBCPU_INLINE void wbcpu_mbarrier_wait(uint64_t *b, bool parity)
{
    do
        wbcpu_mbarrier_park(b, parity);
    while (!wbcpu_mbarrier_ended(b, parity));
}
/* The parity of the phase in which the token's thread arrived. */
WBCPU_INLINE bool wbcpu_mbarrier_parity(uint64_t token)
{
    return wbcpu_mbarrier_phase(token) & 1;
}

/* The running thread's copies by cp.async so far belong to the barrier's phase: they have
 * arrived when it ends. */
WBCPU_INLINE void wbcpu_mbarrier_take_copies(uint64_t *b)
{
    wbcpu_copy_arrives(b, wbcpu_mbarrier_phase(wbcpu_load_unchecked(b)));
}
#endif
