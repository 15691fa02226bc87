/* checked.h - what the back end's own functions tell check mode: the accesses that an
 * instruction of a GPU makes, where these functions make others. In normal mode nothing.
 */
#ifndef WBCPU_CHECKED_H
#define WBCPU_CHECKED_H

#include <stdint.h>
#include <string.h>

#include "qualifiers.h"

struct wbcpu_worker;

#if defined(WBCPU_CHECKED) || defined(WBCPU_CHECK) /* the program, or the library */
extern "C" {
/* What memcpy, memmove and memset are in the program. */
void *wbcpu_checked_memcpy(void *to, const void *from, size_t bytes);
void *wbcpu_checked_memmove(void *to, const void *from, size_t bytes);
void *wbcpu_checked_memset(void *to, int value, size_t bytes);

/* Host memory that the library's device functions read: a description of a texture */
void wbcpu_checked_table(const void *p, size_t bytes);

/* ldmatrix: the running lane passes the address of a row of 16 bytes. */
void wbcpu_check_row(const void *row);
/* The running lane's part of a WMMA load or store of a tile; element: bytes. A factor is
 * matrix_a or matrix_b. */
void wbcpu_check_tile(
    const void *p, unsigned ld, unsigned element, unsigned rows, unsigned columns,
    bool factor, bool by_rows, bool write);
/* A warp multiplies fragments of WMMA. */
void wbcpu_tensor_multiplies(unsigned multiply_adds);

/* cp.async: copies bytes - zeros bytes to shared memory, then writes zeros, when the
 * running thread waits. wait: until at most `newest` of its committed groups are left. */
void wbcpu_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros);
void wbcpu_copy_commit(void);
void wbcpu_copy_wait(unsigned newest);
/* Barriers in shared memory (mbarrier.h): the running thread initialises one; is about to
 * arrive or to wait; arrives now; has waited for this phase; its copies so far
 * arrive in this phase; its wait has found that the phases before this one have ended. */
void wbcpu_mbarrier_made(uint64_t *barrier);
void wbcpu_mbarrier_used(uint64_t *barrier);
void wbcpu_mbarrier_arrives(uint64_t *barrier);
void wbcpu_mbarrier_waited(uint64_t *barrier, uint64_t phase);
void wbcpu_copy_arrives(uint64_t *barrier, uint64_t phase);
void wbcpu_copy_ended(uint64_t *barrier, uint64_t phase);
/* What the running thread writes atomically next releases all that it did before. */
void wbcpu_releases(void);
/* Before wgmma_wait: the running warp's wgmma read their tiles. */
void wbcpu_wgmma_reads(int newest);
}
#else
WBCPU_INLINE void wbcpu_checked_table(const void *, size_t) {}
WBCPU_INLINE void wbcpu_check_row(const void *) {}
WBCPU_INLINE void wbcpu_check_tile(
    const void *, unsigned, unsigned, unsigned, unsigned, bool, bool, bool)
{
}
WBCPU_INLINE void wbcpu_tensor_multiplies(unsigned) {}
WBCPU_INLINE void
wbcpu_copy_async(void *to, const void *from, unsigned bytes, unsigned zeros)
{
    if (!zeros) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, bytes - zeros);
    memset((char *)to + (bytes - zeros), 0, zeros);
}
WBCPU_INLINE void wbcpu_copy_commit() {}
WBCPU_INLINE void wbcpu_copy_wait(unsigned) {}
WBCPU_INLINE void wbcpu_mbarrier_made(uint64_t *) {}
WBCPU_INLINE void wbcpu_mbarrier_used(uint64_t *) {}
WBCPU_INLINE void wbcpu_mbarrier_arrives(uint64_t *) {}
WBCPU_INLINE void wbcpu_mbarrier_waited(uint64_t *, uint64_t) {}
WBCPU_INLINE void wbcpu_copy_arrives(uint64_t *, uint64_t) {}
WBCPU_INLINE void wbcpu_copy_ended(uint64_t *, uint64_t) {}
WBCPU_INLINE void wbcpu_releases() {}
WBCPU_INLINE void wbcpu_wgmma_reads(int) {}
#endif

#endif
