/* Inline PTX: the instructions common in teaching code; an unused helper may contain any instruction. */
#include <cstdio>
#include <cuda_fp16.h>

static __device__ void never_called(float *x)
{
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"l"(x));
}

__device__ unsigned lane()
{
    unsigned l;
    asm("mov.u32 %0, %%laneid;" : "=r"(l));
    return l;
}
__device__ unsigned field(unsigned x, unsigned at, unsigned n)
{
    unsigned r;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(at), "r"(n));
    return r;
}

// dp4a and dp2a: products of bytes and halfwords with a sign or without
__global__ void dot(unsigned *out)
{
    const unsigned a = 0x80ff0102, b = 0xff7f8003, c = 1000;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(out[0]) : "r"(a), "r"(b), "r"(c));
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(out[1]) : "r"(a), "r"(b), "r"(c));
    asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(out[2]) : "r"(a), "r"(b), "r"(c));
    asm("dp2a.hi.u32.s32 %0, %1, %2, %3;" : "=r"(out[3]) : "r"(a), "r"(b), "r"(c));
    asm("{ .reg .u32 %%t<2>, %%u; mov.u32 %%u, %0; add.u32 %%t1, %%u, 1; mov.u32 %0, %%t1; }"
        : "+r"(out[3]));
}

__global__ void alone(unsigned *out, const float4 *x, float4 *y)
{
    unsigned r, carry;
    asm("add.cc.u32 %0, %2, %3;\n\t"
        "addc.u32   %1, 0, 0;"
        : "=r"(r), "=r"(carry)
        : "r"(0xffffffffu), "r"(2));
    out[0] = r + 10 * carry;
    out[1] = field(0xabcd1234, 8, 12);
    asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(out[2]) : "r"(0x11112222), "r"(0x33334444));
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(out[3]) : "r"(12), "r"(10), "r"(6));
    float f;
    asm("{\n"
        ".reg .pred p;\n"
        ".reg .f32 t<2>;\n"
        "fma.rn.f32 t0, %1, %1, 0f3F800000; // + 1\n"
        "setp.gt.f32 p, t0, 0f40A00000;\n"
        "@p mov.f32 t0, 0f40A00000;\n"
        "mul.f32 %0, t0, 0f40000000;\n"
        "}"
        : "=f"(f)
        : "f"(1.5f));
    out[4] = f; /* 6.5; with 3.0f it is 10 */
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(x + 1));
    asm volatile("st.global.cs.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(y), "f"(v.w), "f"(v.z),
                 "f"(v.y), "f"(v.x)
                 : "memory");
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(out + 5), "r"(41));
    asm volatile("{ .reg .u32 old; atom.global.cas.b32 old, [%0], 41, 7; }" ::"l"(out + 5));
    asm volatile("membar.gl;" ::: "memory");
    unsigned long long wide;
    asm("mul.wide.u32 %0, %1, %1;" : "=l"(wide) : "r"(1u << 20));
    out[6] = wide >> 36;
    int down;
    asm("cvt.rmi.s32.f32 %0, %1;" : "=r"(down) : "f"(-1.5f));
    out[7] = down;
    unsigned bytes, x4 = 0x01ff0510, y4 = 0x02010a08;
    asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(x4), "r"(y4), "r"(0));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(x4), "r"(y4), "r"(100));
    out[8] = bytes + r; /* 0x01fe0508 and 368 */
}

template <int N> __global__ void address(const unsigned *__restrict__ x, unsigned *out)
{
    asm volatile("ld.global.b32 %0, [%1];" : "=r"(*out) : "l"(&x[N]));
}

/* Values that depend on the type: bf16, tf32, pairs, carries, predicates */
__global__ void typed(unsigned *out)
{
    unsigned short h;
    asm("fma.rn.bf16 %0, %1, %2, %3;"
        : "=h"(h)
        : "h"((unsigned short)0x4040), "h"((unsigned short)0x4000), "h"((unsigned short)0x3f80));
    out[0] = h; /* 3 * 2 + 1 = 7 */
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out[1]) : "f"(1.0f), "f"(-2.0f));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out[2]) : "f"(1.0f), "f"(-2.0f));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out[3]) : "f"(1.00048828125f)); /* 1 + 2^-11 */
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(out[4]) : "f"(-3e9f));
    asm("{\n\t"
        ".reg .u32 low;\n\t"
        "sub.cc.u32 low, 3, 5;\n\t"
        "subc.u32 %0, 7, 0;\n\t"
        "mad.lo.cc.u32 low, %1, %1, low;\n\t"
        "madc.hi.u32 %0, %1, %1, %0;\n\t"
        "}"
        : "=&r"(out[5])
        : "r"(0x80000001u)); /* 6 + 2^30 + 1: the lower half, 1 - 2, does not carry */
    asm("{\n\t"
        ".reg .pred p, q, r;\n\t"
        "setp.lt.s32 r, %1, %2;\n\t"
        "setp.eq.and.s32 p|q, %1, 4, r;\n\t"
        "not.pred r, r;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t"
        "@q add.u32 %0, %0, 2;\n\t"
        "@r add.u32 %0, %0, 4;\n\t"
        "}"
        : "=r"(out[6])
        : "r"(3), "r"(5));
    asm("min.f16x2 %0, %1, %2;" : "=r"(out[7]) : "r"(0x3c00c000), "r"(0x40003c00));
    out[8] = 3;
    asm volatile("{ .reg .u32 old; atom.global.inc.u32 old, [%0], 3; }" ::"l"(out + 8) : "memory");
    __shared__ int4 s;
    s = make_int4(1, 2, 3, 4);
    unsigned to = (unsigned)__cvta_generic_to_shared(&s);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + 8), "l"(out + 6), "r"(4));
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[9] = s.y * 100 + s.z * 10 + s.w; /* 2, out[6], a zero */
}

/* mma of other types. The sums of integers are exact. */
__global__ void products(unsigned *out, int *sums)
{
    const unsigned ones = 0x01010101, one16 = 0x3c003c00;
    int d[4], more = (1 << 24) + 1;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0, %1, %2, %3}, {%4, %4, %4, %5}, {%4, %5}, {%6, %6, %6, %6};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(ones), "r"(0xfefefefe), "r"(more)); /* -2 */
    for (int i = 0; i < 4; i++)
        sums[threadIdx.x * 4 + i] = d[i] - more;
    float f[4] = {0, 0, 0, 0};
    asm volatile("{\n\t" /* two instructions of the warp, one of them left out */
                 ".reg .pred never;\n\t"
                 "setp.ne.u32 never, 0, 0;\n\t"
                 "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, %1, %2, %3};\n\t"
                 "@never mov.f32 %0, 0f00000000;\n\t"
                 "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%6, %6, %6, %6}, {%6, %6}, {%0, %1, %2, %3};\n\t"
                 "}"
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                 : "r"(__float_as_uint(0.5f)), "r"(__float_as_uint(3)), "r"(0x40404040));
    unsigned h[2] = {one16, 0};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %3}, {%2}, {%0, %1};"
                 : "+r"(h[0]), "+r"(h[1])
                 : "r"(one16), "r"(0xbc00bc00));
    if (threadIdx.x == 7) out[0] = (unsigned)f[0], out[1] = (unsigned)f[3], out[2] = h[0], out[3] = h[1];
}

/* C (16,8) = A (16,16) B (16,8) of one warp, through shared memory */
__global__ void together(const half *a, const half *b, float *c, unsigned *sum)
{
    __shared__ half sa[16 * 16], sb[16 * 8];
    unsigned to = (unsigned)__cvta_generic_to_shared(sa + threadIdx.x * 8);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(a + threadIdx.x * 8));
    for (int i = threadIdx.x; i < 16 * 8; i += 32)
        sb[i] = b[i];
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group %0;" ::"n"(0));
    asm volatile("bar.sync 0;" ::: "memory");
    unsigned ra[4], rb[2];
    int l = lane();
    unsigned from = (unsigned)__cvta_generic_to_shared(sa + l % 16 * 16 + l / 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                 : "r"(from));
    from = (unsigned)__cvta_generic_to_shared(sb + l % 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(rb[0]), "=r"(rb[1])
                 : "r"(from));
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++)
        c[(l / 4 + i / 2 * 8) * 8 + l % 4 * 2 + i % 2] = d[i];
    unsigned v = l;
    for (int o = 16; o > 0; o /= 2) {
        unsigned other;
        asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                     : "=r"(other)
                     : "r"(v), "r"(o));
        v += other;
    }
    if (l == 5) *sum = v;
}

/* asm in a host function is CPU assembly. */
struct host {
    static int answer(int x)
    {
#ifdef __x86_64__
        asm volatile("addl $40, %0" : "+r"(x));
        return x;
#else
        return x + 40;
#endif
    }
};

int main()
{
    if (host::answer(2) != 42) return 20;
    const unsigned want[9] = {11, 0xd12, 0x44442222, 14, 6, 7, 16, (unsigned)-2, 0x01fe0678};
    unsigned *out;
    float4 *x;
    half *a, *b;
    float *c;
    unsigned *more;
    int *sums;
    cudaMallocManaged(&out, 10 * sizeof(unsigned));
    cudaMallocManaged(&more, 10 * sizeof(unsigned));
    cudaMallocManaged(&sums, 128 * sizeof(int));
    cudaMallocManaged(&x, 3 * sizeof(float4));
    cudaMallocManaged(&a, 16 * 16 * sizeof(half));
    cudaMallocManaged(&b, 16 * 8 * sizeof(half));
    cudaMallocManaged(&c, 16 * 8 * sizeof(float));
    out[5] = 0;
    x[1] = make_float4(1, 2, 3, 4);
    alone<<<1, 1>>>(out, x, x + 2);
    cudaDeviceSynchronize();
    for (int i = 0; i < 9; i++)
        if (out[i] != want[i]) return printf("%d: %#x, not %#x\n", i, out[i], want[i]), 1;
    if (x[2].x != 4 || x[2].w != 1) return 2;
    address<3><<<1, 1>>>(out, out + 9);
    cudaDeviceSynchronize();
    if (out[9] != out[3]) return 4;
    dot<<<1, 1>>>(out);
    cudaDeviceSynchronize();
    if (out[0] != 879 || out[1] != 33135 || out[2] != (unsigned)-4159890 || out[3] != 744)
        return printf("dot: %u %u %u %u\n", out[0], out[1], out[2], out[3]), 1;

    const unsigned want_typed[10] = {0x40e0, 0x3f80c000, 0x3c00c000, 0x3f802000, 0x80000000,
                                     0x40000007, 2, 0x3c00c000, 0, 220};
    typed<<<1, 1>>>(more);
    cudaDeviceSynchronize();
    for (int i = 0; i < 10; i++)
        if (more[i] != want_typed[i])
            return printf("typed %d: %#x, not %#x\n", i, more[i], want_typed[i]), 5;
    const unsigned want_products[4] = {156, 156, 0x48804880, 0xc800c800};
    products<<<1, 32>>>(more, sums);
    cudaDeviceSynchronize();
    for (int i = 0; i < 4; i++)
        if (more[i] != want_products[i])
            return printf("products %d: %#x, not %#x\n", i, more[i], want_products[i]), 6;
    for (int i = 0; i < 128; i++) /* 16 of 1 * 1, 16 of 1 * -2; in rows 8 to 15 -2 * -2 */
        if (sums[i] != (i & 2 ? 16 + 64 : 16 - 32)) return printf("sum %d: %d\n", i, sums[i]), 7;

    for (int i = 0; i < 256; i++)
        a[i] = __float2half((i % 11) - 5);
    for (int i = 0; i < 128; i++)
        b[i] = __float2half((i % 7) * 0.5f);
    together<<<1, 32>>>(a, b, c, out + 9);
    cudaDeviceSynchronize();
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++) {
            float sum = 0;
            for (int k = 0; k < 16; k++)
                sum += __half2float(a[m * 16 + k]) * __half2float(b[k * 8 + n]);
            if (c[m * 8 + n] != sum) return printf("%d %d: %g, not %g\n", m, n, c[m * 8 + n], sum), 3;
        }
    return out[9] != 31 * 32 / 2;
}
