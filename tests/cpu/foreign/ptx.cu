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

int main()
{
    const unsigned want[9] = {11, 0xd12, 0x44442222, 14, 6, 7, 16, (unsigned)-2, 0x01fe0678};
    unsigned *out;
    float4 *x;
    half *a, *b;
    float *c;
    cudaMallocManaged(&out, 10 * sizeof(unsigned));
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
