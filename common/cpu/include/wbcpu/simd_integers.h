/* simd_integers.h - CUDA's functions on the two halfwords or four bytes of an unsigned int, and
 * its minima and maxima of several values. */
#ifndef WBCPU_SIMD_INTEGERS_H
#define WBCPU_SIMD_INTEGERS_H

#include "device_functions.h"

/* clang-format off */
/* x, y: parts of a, b; top and all: the largest signed and unsigned part */
#define WBCPU_PARTS(bits, T, expression)                                                     \
    constexpr int top = (1 << (bits - 1)) - 1, all = 2 * top + 1;                            \
    unsigned r = 0;                                                                          \
    for (int i = 0; i < 32; i += bits) {                                                     \
        int x = (T)(a >> i), y = (T)(b >> i);                                                 \
        (void)x, (void)y;                                                                    \
        r |= ((unsigned)(expression) & (unsigned)all) << i;                                  \
    }                                                                                        \
    return (void)top, r;
#define WBCPU_ONE(name, expression)                                                          \
    WBCPU_INLINE unsigned __v##name##2(unsigned a) { constexpr unsigned b = 0; WBCPU_PARTS(16, int16_t, expression) } \
    WBCPU_INLINE unsigned __v##name##4(unsigned a) { constexpr unsigned b = 0; WBCPU_PARTS(8, int8_t, expression) }
#define WBCPU_TWO(name, T, expression)                                                       \
    WBCPU_INLINE unsigned __v##name##2(unsigned a, unsigned b) { WBCPU_PARTS(16, T##16_t, expression) } \
    WBCPU_INLINE unsigned __v##name##4(unsigned a, unsigned b) { WBCPU_PARTS(8, T##8_t, expression) }

WBCPU_INLINE int wbcpu_clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
WBCPU_ONE(abs, x < 0 ? -x : x)
WBCPU_ONE(absss, wbcpu_clamp(x < 0 ? -x : x, 0, top))
WBCPU_ONE(neg, -x)
WBCPU_ONE(negss, wbcpu_clamp(-x, -top - 1, top))
WBCPU_TWO(add, uint, x + y)
WBCPU_TWO(addss, int, wbcpu_clamp(x + y, -top - 1, top))
WBCPU_TWO(addus, uint, wbcpu_clamp(x + y, 0, all))
WBCPU_TWO(sub, uint, x - y)
WBCPU_TWO(subss, int, wbcpu_clamp(x - y, -top - 1, top))
WBCPU_TWO(subus, uint, wbcpu_clamp(x - y, 0, all))
WBCPU_TWO(absdiffs, int, x > y ? x - y : y - x)
WBCPU_TWO(absdiffu, uint, x > y ? x - y : y - x)
WBCPU_TWO(avgs, int, (x + y + (x + y >= 0)) >> 1)
WBCPU_TWO(avgu, uint, (x + y + 1) >> 1)
WBCPU_TWO(haddu, uint, (x + y) >> 1)
WBCPU_TWO(maxs, int, x > y ? x : y)
WBCPU_TWO(maxu, uint, x > y ? x : y)
WBCPU_TWO(mins, int, x < y ? x : y)
WBCPU_TWO(minu, uint, x < y ? x : y)
#define WBCPU_COMPARE(name, T, operation)                                                    \
    WBCPU_TWO(cmp##name, T, x operation y ? -1 : 0)                                          \
    WBCPU_TWO(set##name, T, x operation y)
WBCPU_COMPARE(eq, uint, ==)
WBCPU_COMPARE(ne, uint, !=)
WBCPU_COMPARE(ges, int, >=)
WBCPU_COMPARE(geu, uint, >=)
WBCPU_COMPARE(gts, int, >)
WBCPU_COMPARE(gtu, uint, >)
WBCPU_COMPARE(les, int, <=)
WBCPU_COMPARE(leu, uint, <=)
WBCPU_COMPARE(lts, int, <)
WBCPU_COMPARE(ltu, uint, <)
#undef WBCPU_COMPARE
#undef WBCPU_ONE
#undef WBCPU_TWO
#define WBCPU_SAD(name, difference)                                                          \
    WBCPU_INLINE unsigned name##2(unsigned a, unsigned b) { unsigned d = difference##2(a, b); return (d & 0xffff) + (d >> 16); } \
    WBCPU_INLINE unsigned name##4(unsigned a, unsigned b) { unsigned d = difference##4(a, b); return (d & 255) + (d >> 8 & 255) + (d >> 16 & 255) + (d >> 24); }
WBCPU_SAD(__vsads, __vabsdiffs)
WBCPU_SAD(__vsadu, __vabsdiffu)
#undef WBCPU_SAD

/* Minima and maxima of a + b and c, of three numbers, of a number and 0 (relu): for s32, u32,
 * and the halfwords of s16x2, u16x2 */
#define WBCPU_RELU(name, P, call)                                                            \
    WBCPU_INLINE unsigned __v##name##_s16x2_relu P(unsigned) { return __vmaxs2(__v##name##_s16x2 call, 0); } \
    WBCPU_INLINE int __v##name##_s32_relu P(int) { int r = __v##name##_s32 call; return r > 0 ? r : 0; }
#define WBCPU_A_B(T) (T a, T b)
#define WBCPU_A_B_C(T) (T a, T b, T c)
#define WBCPU_EXTREME(m, operation)                                                          \
    WBCPU_INLINE int __vi##m##_s32(int a, int b) { return a operation b ? a : b; }           \
    WBCPU_INLINE unsigned __vi##m##_u32(unsigned a, unsigned b) { return a operation b ? a : b; } \
    WBCPU_INLINE unsigned __vi##m##_s16x2(unsigned a, unsigned b) { return __v##m##s2(a, b); } \
    WBCPU_INLINE unsigned __vi##m##_u16x2(unsigned a, unsigned b) { return __v##m##u2(a, b); } \
    WBCPU_INLINE int __vi##m##3_s32(int a, int b, int c) { return __vi##m##_s32(__vi##m##_s32(a, b), c); } \
    WBCPU_INLINE unsigned __vi##m##3_u32(unsigned a, unsigned b, unsigned c) { return __vi##m##_u32(__vi##m##_u32(a, b), c); } \
    WBCPU_INLINE unsigned __vi##m##3_s16x2(unsigned a, unsigned b, unsigned c) { return __v##m##s2(__v##m##s2(a, b), c); } \
    WBCPU_INLINE unsigned __vi##m##3_u16x2(unsigned a, unsigned b, unsigned c) { return __v##m##u2(__v##m##u2(a, b), c); } \
    WBCPU_INLINE int __viadd##m##_s32(int a, int b, int c) { return __vi##m##_s32((int)((unsigned)a + (unsigned)b), c); } \
    WBCPU_INLINE unsigned __viadd##m##_u32(unsigned a, unsigned b, unsigned c) { return __vi##m##_u32(a + b, c); } \
    WBCPU_INLINE unsigned __viadd##m##_s16x2(unsigned a, unsigned b, unsigned c) { return __v##m##s2(__vadd2(a, b), c); } \
    WBCPU_INLINE unsigned __viadd##m##_u16x2(unsigned a, unsigned b, unsigned c) { return __v##m##u2(__vadd2(a, b), c); } \
    /* *first: a is the result */                                                            \
    WBCPU_INLINE int __vib##m##_s32(int a, int b, bool *first) { *first = a operation##= b; return *first ? a : b; } \
    WBCPU_INLINE unsigned __vib##m##_u32(unsigned a, unsigned b, bool *first) { *first = a operation##= b; return *first ? a : b; } \
    WBCPU_INLINE unsigned __vib##m##_s16x2(unsigned a, unsigned b, bool *high, bool *low)    \
    {                                                                                        \
        *high = (int16_t)(a >> 16) operation##= (int16_t)(b >> 16), *low = (int16_t)a operation##= (int16_t)b; \
        return __v##m##s2(a, b);                                                             \
    }                                                                                        \
    WBCPU_INLINE unsigned __vib##m##_u16x2(unsigned a, unsigned b, bool *high, bool *low)    \
    {                                                                                        \
        *high = a >> 16 operation##= b >> 16, *low = (uint16_t)a operation##= (uint16_t)b;   \
        return __v##m##u2(a, b);                                                             \
    }                                                                                        \
    WBCPU_RELU(i##m, WBCPU_A_B, (a, b))                                                      \
    WBCPU_RELU(i##m##3, WBCPU_A_B_C, (a, b, c))                                              \
    WBCPU_RELU(iadd##m, WBCPU_A_B_C, (a, b, c))
WBCPU_EXTREME(max, >)
WBCPU_EXTREME(min, <)
#undef WBCPU_EXTREME
#undef WBCPU_RELU
#undef WBCPU_A_B
#undef WBCPU_A_B_C
#undef WBCPU_PARTS
/* clang-format on */

#endif
