/* nvToolsExt.h - ranges and marks for NVIDIA's profilers: they do nothing. */
#ifndef WBCPU_NVTX_H
#define WBCPU_NVTX_H

#include <stddef.h>
#include <stdint.h>

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
enum { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 };
enum { NVTX_MESSAGE_UNKNOWN = 0, NVTX_MESSAGE_TYPE_ASCII = 1 };
typedef union {
    const char *ascii;
} nvtxMessageValue_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    uint64_t payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;
typedef uint64_t nvtxRangeId_t;

static inline int nvtxRangePushA(const char *name)
{
    (void)name;
    return 0;
}
static inline int nvtxRangePushEx(const nvtxEventAttributes_t *attributes)
{
    (void)attributes;
    return 0;
}
static inline int nvtxRangePop(void)
{
    return 0;
}
static inline nvtxRangeId_t nvtxRangeStartA(const char *name)
{
    (void)name;
    return 0;
}
static inline nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t *attributes)
{
    (void)attributes;
    return 0;
}
static inline void nvtxMarkEx(const nvtxEventAttributes_t *attributes)
{
    (void)attributes;
}
static inline void nvtxRangeEnd(nvtxRangeId_t id)
{
    (void)id;
}
static inline void nvtxMarkA(const char *name)
{
    (void)name;
}
static inline void nvtxNameOsThreadA(uint32_t id, const char *name)
{
    (void)id;
    (void)name;
}
#define nvtxNameCudaStreamA(stream, name) ((void)(stream), (void)(name))
#define nvtxNameCudaEventA(event, name) ((void)(event), (void)(name))
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA

#endif
