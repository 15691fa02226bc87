/* vector_functions.h - make_float4 and its family. For C and C++. */
#ifndef WBCPU_VECTOR_FUNCTIONS_H
#define WBCPU_VECTOR_FUNCTIONS_H

#include "vector_types.h"

#define WBCPU_MAKE static inline __attribute__((unused))
#define WBCPU_VECTOR(type, name)                                                         \
    WBCPU_MAKE name##1 make_##name##1(type x)                                            \
    {                                                                                    \
        name##1 v = {x};                                                                 \
        return v;                                                                        \
    }                                                                                    \
    WBCPU_MAKE name##2 make_##name##2(type x, type y)                                    \
    {                                                                                    \
        name##2 v = {x, y};                                                              \
        return v;                                                                        \
    }                                                                                    \
    WBCPU_MAKE name##3 make_##name##3(type x, type y, type z)                            \
    {                                                                                    \
        name##3 v = {x, y, z};                                                           \
        return v;                                                                        \
    }                                                                                    \
    WBCPU_MAKE name##4 make_##name##4(type x, type y, type z, type w)                    \
    {                                                                                    \
        name##4 v = {x, y, z, w};                                                        \
        return v;                                                                        \
    }

WBCPU_VECTOR(signed char, char)
WBCPU_VECTOR(unsigned char, uchar)
WBCPU_VECTOR(short, short)
WBCPU_VECTOR(unsigned short, ushort)
WBCPU_VECTOR(int, int)
WBCPU_VECTOR(unsigned int, uint)
WBCPU_VECTOR(long, long)
WBCPU_VECTOR(unsigned long, ulong)
WBCPU_VECTOR(long long, longlong)
WBCPU_VECTOR(unsigned long long, ulonglong)
WBCPU_VECTOR(float, float)
WBCPU_VECTOR(double, double)
#undef WBCPU_VECTOR

#define WBCPU_VECTOR(type, name)                                                         \
    WBCPU_MAKE name make_##name(type x, type y, type z, type w)                          \
    {                                                                                    \
        name v = {x, y, z, w};                                                           \
        return v;                                                                        \
    }
WBCPU_VECTOR(long, long4_16a)
WBCPU_VECTOR(long, long4_32a)
WBCPU_VECTOR(unsigned long, ulong4_16a)
WBCPU_VECTOR(unsigned long, ulong4_32a)
WBCPU_VECTOR(long long, longlong4_16a)
WBCPU_VECTOR(long long, longlong4_32a)
WBCPU_VECTOR(unsigned long long, ulonglong4_16a)
WBCPU_VECTOR(unsigned long long, ulonglong4_32a)
WBCPU_VECTOR(double, double4_16a)
WBCPU_VECTOR(double, double4_32a)
#undef WBCPU_VECTOR
#undef WBCPU_MAKE

#endif
