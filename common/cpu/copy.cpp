/* copy.cpp - cudaMemcpy, cudaMemset and their variants. */
#include "check/host_hooks.h"
#include "driver.h"
#include "dry.h"
#include "include/wbcpu.h"
#include "memory.h"
#include "paused.h"
#include "scheduler.h"
#include "stream.h"

#include <dlfcn.h>

namespace wbcpu
{
/* The rule of a GPU: where the kind says device, pageable memory is an error; where it says
 * host, any memory will do. A static array of the host looks like a __device__ variable. It
 * counts as pageable if the kind says that the other side is host memory, but it is device
 * memory. */
static bool contradicts(const void *dst, const void *src, int kind)
{
    bool to = kind == cudaMemcpyHostToDevice, from = kind == cudaMemcpyDeviceToHost;
    bool both = kind == cudaMemcpyDeviceToDevice;
    return ((to || both) && is_pageable(dst, to && wbcpu_in_device_memory(src))) ||
           ((from || both) && is_pageable(src, from && wbcpu_in_device_memory(dst)));
}

/* A copy from device to device may write a __device__ variable of the program. */
static bool leaves_device(const copy &c)
{
    if (!results_stay) return false;
    if (c.kind == cudaMemcpyDeviceToHost) return true;
    if (wbcpu_in_device_memory(c.dst)) return false;
    if (c.kind == cudaMemcpyDefault) return true;
    return wbcpu_in_device_memory(c.src) &&
           (c.kind == cudaMemcpyHostToHost || in_host_block(c.dst) ||
            is_pageable(c.dst, false));
}

/* The host may free or change such memory as soon as the call returns. */
static bool has_pageable(const copy &c)
{
    return !(wbcpu_in_device_memory(c.src) || in_host_block(c.src)) ||
           !(wbcpu_in_device_memory(c.dst) || in_host_block(c.dst));
}

static std::atomic<unsigned long long> device_copies;
extern "C" unsigned long long wbcpu_copy_count()
{
    return device_copies;
}

static cudaError_t check_copy(const copy &c)
{
    use_device();
    if (sticky_error()) return sticky_error();
    if (leaves_device(c)) return fail(cudaErrorNotPermitted);
    if ((unsigned)c.kind > cudaMemcpyDefault)
        return fail(cudaErrorInvalidMemcpyDirection);
    if (cudaError_t e = check::check_copy(c)) return fail(e);
    if (c.width && c.height && (!c.dst || !c.src || contradicts(c.dst, c.src, c.kind)))
        return fail(cudaErrorInvalidValue);
    if (c.width > c.dpitch || c.width > c.spitch) {
        check::bad_pitch(c);
        return fail(cudaErrorInvalidPitchValue);
    }
    return cudaSuccess;
}

/* Runs the work now, or records it if the stream is capturing. */
template <class Work> static cudaError_t enqueue(cudaStream_t stream, Work work)
{
    if (cudaError_t e = stream_error(stream)) return fail(e);
    auto opened = [work] {
        open_device_memory();
        work();
        close_device_memory();
    };
    const bool runs_now =
        must_queue() && !wbcpu_self && !capture_of(stream) && !comes_after_paused(stream);
    if (runs_now || !wbcpu_record(stream, opened)) opened();
    return cudaSuccess;
}

/* The workers share a large copy: one core alone reads, writes and touches pages at a
 * fraction of the memory's speed. */
struct large_copy {
    char *to;
    const char *from;
    size_t bytes;
    static constexpr size_t PIECE = 256 << 10, LEAST = 4 * PIECE;

    static void run_piece(void *context, int i)
    {
        const large_copy *c = static_cast<large_copy *>(context);
        size_t at = (size_t)i * PIECE, left = c->bytes - at;
        memcpy(c->to + at, c->from + at, left < PIECE ? left : PIECE);
    }
};

/* memmove */
static void move_bytes(char *to, const char *from, size_t bytes)
{
    bool apart = to + bytes <= from || from + bytes <= to;
    if (bytes < large_copy::LEAST || !apart) {
        memmove(to, from, bytes);
        return;
    }
    large_copy c = {to, from, bytes};
    int pieces = (int)((bytes + large_copy::PIECE - 1) / large_copy::PIECE);
    wbcpu_parallel(pieces, large_copy::run_piece, &c);
}

/* wait: the host waits for it, in check mode; otherwise it has finished anyway. */
static cudaError_t enqueue_copy(copy c, cudaStream_t stream, bool wait)
{
    if (cudaError_t e = check_copy(c)) return e;
    if (comes_after_paused(stream) && (wait || has_pageable(c))) finish_paused_launch();
    if (wbcpu_in_device_memory(c.src)) device_copies++;
    const copy given = c;
    std::shared_ptr<char> staged = wait ? nullptr : check::stage(c, stream);
    cudaError_t e = enqueue(stream, [c, staged] {
        check::copying(c);
        for (size_t row = 0; row < c.height; row++) {
            char *to = (char *)c.dst + row * c.dpitch;
            const char *from = (const char *)c.src + row * c.spitch;
            for_ends(c.width, end_bytes, [=](size_t at, size_t n) {
                move_bytes(to + at, from + at, n);
            });
        }
    });
    if (!e) check::copy_enqueued(given, stream, wait, staged != nullptr);
    return e;
}
static cudaError_t enqueue_memset(copy c, int value, cudaStream_t stream, bool wait)
{
    use_device();
    if (sticky_error()) return sticky_error();
    if (cudaError_t e = check::check_copy(c)) return fail(e);
    if (c.width && c.height && (!c.dst || is_pageable(c.dst, false)))
        return fail(cudaErrorInvalidValue);
    cudaError_t e = enqueue(stream, [=] {
        check::copying(c);
        for_ends(c.height, end_rows, [=](size_t row, size_t rows) {
            for (; rows--; row++) {
                char *to = (char *)c.dst + row * c.dpitch;
                for_ends(c.width, end_bytes, [=](size_t at, size_t n) {
                    memset(to + at, value, n);
                });
            }
        });
    });
    if (!e) check::copy_enqueued(c, stream, wait, false);
    return e;
}

extern "C" cudaError_t cudaMemcpyAsync(
    void *dst, const void *src, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    return enqueue_copy({dst, bytes, src, bytes, bytes, 1, kind}, stream, false);
}
extern "C" cudaError_t
cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind)
{
    return enqueue_copy({dst, bytes, src, bytes, bytes, 1, kind}, nullptr, true);
}
extern "C" cudaError_t cudaMemcpyPeerAsync(
    void *dst, int to, const void *src, int from, size_t bytes, cudaStream_t stream)
{
    if (to != 0 || from != 0) return fail(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
}
extern "C" cudaError_t
cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t bytes)
{
    if (to != 0 || from != 0) return fail(cudaErrorInvalidDevice);
    return cudaMemcpy(dst, src, bytes, cudaMemcpyDeviceToDevice);
}
extern "C" cudaError_t cudaMemcpy2DAsync(
    void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
    cudaMemcpyKind kind, cudaStream_t stream)
{
    return enqueue_copy({dst, dpitch, src, spitch, width, height, kind}, stream, false);
}
extern "C" cudaError_t cudaMemcpy2D(
    void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
    cudaMemcpyKind kind)
{
    return enqueue_copy({dst, dpitch, src, spitch, width, height, kind}, nullptr, true);
}
extern "C" cudaError_t cudaMemset2DAsync(
    void *p, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    copy c = {p, pitch, nullptr, 0, width, height, cudaMemcpyDefault};
    return enqueue_memset(c, value, stream, false);
}
extern "C" cudaError_t
cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height)
{
    copy c = {p, pitch, nullptr, 0, width, height, cudaMemcpyDefault};
    return enqueue_memset(c, value, nullptr, true);
}
extern "C" cudaError_t
cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    return cudaMemset2DAsync(p, bytes, value, bytes, 1, stream);
}
extern "C" cudaError_t cudaMemset(void *p, int value, size_t bytes)
{
    return cudaMemset2D(p, bytes, value, bytes, 1);
}

/* --- __device__ and __constant__ variables, which are ordinary variables ------------ */

/* Variables lie in the program or a library; stack and heap do not. */
static cudaError_t check_symbol(const void *symbol)
{
    Dl_info about;
    if (!symbol) return fail(cudaErrorInvalidValue);
    return dladdr(symbol, &about) ? cudaSuccess : fail(cudaErrorInvalidSymbol);
}
static cudaError_t to_symbol(
    const void *symbol, const void *src, size_t bytes, size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream, bool wait)
{
    if (kind == cudaMemcpyDeviceToHost) return fail(cudaErrorInvalidMemcpyDirection);
    if (cudaError_t e = check_symbol(symbol)) return e;
    char *dst = (char *)const_cast<void *>(symbol) + offset;
    return enqueue_copy({dst, bytes, src, bytes, bytes, 1, kind}, stream, wait);
}
static cudaError_t from_symbol(
    void *dst, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream, bool wait)
{
    if (kind == cudaMemcpyHostToDevice) return fail(cudaErrorInvalidMemcpyDirection);
    if (cudaError_t e = check_symbol(symbol)) return e;
    const char *src = (const char *)symbol + offset;
    return enqueue_copy({dst, bytes, src, bytes, bytes, 1, kind}, stream, wait);
}
extern "C" cudaError_t cudaMemcpyToSymbolAsync(
    const void *symbol, const void *src, size_t bytes, size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream)
{
    return to_symbol(symbol, src, bytes, offset, kind, stream, false);
}
extern "C" cudaError_t cudaMemcpyToSymbol(
    const void *symbol, const void *src, size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    return to_symbol(symbol, src, bytes, offset, kind, nullptr, true);
}
extern "C" cudaError_t cudaMemcpyFromSymbolAsync(
    void *dst, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream)
{
    return from_symbol(dst, symbol, bytes, offset, kind, stream, false);
}
extern "C" cudaError_t cudaMemcpyFromSymbol(
    void *dst, const void *symbol, size_t bytes, size_t offset, cudaMemcpyKind kind)
{
    return from_symbol(dst, symbol, bytes, offset, kind, nullptr, true);
}
extern "C" cudaError_t cudaGetSymbolAddress(void **p, const void *symbol)
{
    *p = const_cast<void *>(symbol);
    return check_symbol(symbol);
}
}  // namespace wbcpu
