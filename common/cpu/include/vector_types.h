/* vector_types.h - float4 and its family, dim3: structs with the device's alignment, so
 * that a float4 is one 16-byte access on both back ends. For C and C++. */
#ifndef WBCPU_VECTOR_TYPES_H
#define WBCPU_VECTOR_TYPES_H

#define WBCPU_ALIGNED(n) __attribute__((aligned(n)))

/* Alignment: of 1-, 2- and 4-vectors their size, at most 16; of 3-vectors the element. */
#define WBCPU_VECTOR(type, name, align1, align2, align4)                                 \
    struct name##1 { type x; } WBCPU_ALIGNED(align1);                                    \
    struct name##2 { type x, y; } WBCPU_ALIGNED(align2);                                 \
    struct name##3 { type x, y, z; };                                                    \
    struct name##4 { type x, y, z, w; } WBCPU_ALIGNED(align4);                           \
    typedef struct name##1 name##1;                                                      \
    typedef struct name##2 name##2;                                                      \
    typedef struct name##3 name##3;                                                      \
    typedef struct name##4 name##4;

WBCPU_VECTOR(signed char, char, 1, 2, 4)
WBCPU_VECTOR(unsigned char, uchar, 1, 2, 4)
WBCPU_VECTOR(short, short, 2, 4, 8)
WBCPU_VECTOR(unsigned short, ushort, 2, 4, 8)
WBCPU_VECTOR(int, int, 4, 8, 16)
WBCPU_VECTOR(unsigned int, uint, 4, 8, 16)
WBCPU_VECTOR(long, long, 8, 16, 16)
WBCPU_VECTOR(unsigned long, ulong, 8, 16, 16)
WBCPU_VECTOR(long long, longlong, 8, 16, 16)
WBCPU_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
WBCPU_VECTOR(float, float, 4, 8, 16)
WBCPU_VECTOR(double, double, 8, 16, 16)
#undef WBCPU_VECTOR

/* Toolkit 13's 4-vectors that say their alignment */
#define WBCPU_VECTOR(type, name)                                                         \
    struct name##_16a { type x, y, z, w; } WBCPU_ALIGNED(16);                            \
    struct name##_32a { type x, y, z, w; } WBCPU_ALIGNED(32);                            \
    typedef struct name##_16a name##_16a;                                                \
    typedef struct name##_32a name##_32a;

WBCPU_VECTOR(long, long4)
WBCPU_VECTOR(unsigned long, ulong4)
WBCPU_VECTOR(long long, longlong4)
WBCPU_VECTOR(unsigned long long, ulonglong4)
WBCPU_VECTOR(double, double4)
#undef WBCPU_VECTOR

/* The size of a grid or a block; missing dimensions are 1. */
struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1)
        : x(vx), y(vy), z(vz)
    {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
};
typedef struct dim3 dim3;

#endif
