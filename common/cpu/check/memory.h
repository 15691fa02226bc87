/* memory.h - start-up of check mode's tables; internal to the library. */
#ifndef WBCPU_CHECK_MEMORY_H
#define WBCPU_CHECK_MEMORY_H

#include "../scheduler.h"

#include <stddef.h>
#include <stdint.h>

#include <string>

namespace wbcpu::check
{
struct place;
struct variable;
bool reserve_shadow(size_t bytes);  /* for global memory of this size; false: no space */
bool reserve_sectors(size_t bytes); /* the same for the counts */
void read_variables();
size_t program_data_bytes();
void each_device_variable(void (*use)(const variable &));
void begin_variables(); /* registers __device__ variables as initialized buffers */
/* The state of bytes of global memory (device.cpp). */
void mark_allocated(uintptr_t address, size_t bytes, bool written);
void mark_outside(uintptr_t address, size_t bytes);
void mark_freed(uintptr_t address, size_t bytes);
/* Thread-local storage of this CPU thread, which runs the blocks of a rank */
void enter_thread_local(int rank, int size);
uintptr_t own_storage(); /* where that of this CPU thread begins */
void begin_shared(worker *w);
void end_shared();
/* The last ordinary write to a word of shared memory: its time (0: none), thread in the
 * grid, from 1, and site; and after TMA wrote a range, there is none. */
uint32_t last_write(uintptr_t address, uint32_t *number, uint16_t *site);
void forget_writes(uintptr_t address, size_t bytes);
/* At a barrier; and those of other blocks' memory that happened before a phase of the
 * cluster barrier ended */
void settle_early_reads(uint32_t phase);
void drop_early_reads();
size_t thread_local_words();
std::string shared_element(uintptr_t address, unsigned bytes); /* "tile[33]" */
/* The first byte in [p, p + bytes) of device memory that nothing has written, or bytes. */
size_t first_unwritten(const void *p, size_t bytes);
}  // namespace wbcpu::check

#endif
