// no_loops.cu - kernels whose threads cannot run as loops, or that the translator does not
// understand well enough (common/cpu/translate/blocks.h). Translated, not compiled.
struct type { int a; };
__device__ int total;
__device__ void wait() { __syncthreads(); }
__device__ int other(int *v) { while (atomicAdd(v, 0) == 0); return 1; }
__global__ void a(float *x) { if (x[0]) __syncthreads(); x[threadIdx.x] = 1; }
__global__ void b(float *x) { if (x[threadIdx.x]) wait(); x[threadIdx.x] = 1; }
__global__ void d(int *x) { while (atomicAdd(x, 0) == 0) x[1]++; }
__global__ void e(int *x) { for (int i = 0; atomicAdd(x, 0) == 0; i++) x[1]++; }
__global__ void f(volatile int *x) { x[threadIdx.x] = x[0]; }
__global__ void g(int *x) { while (x[0]) x[threadIdx.x] = __shfl_sync(~0u, x[0], 3); }
__global__ void h(int *x) { for (int i = threadIdx.x; i < 4; i++) { __syncthreads(); x[0]++; } }
__global__ void i(int *x) { for (int i = 0; i < 4; i++) { __syncthreads(); x[i]++; i++; } }
__global__ void j(int *x) { for (int i = 0; i < x[0]; i++) { __syncthreads(); x[i]++; } }
__global__ void k(int *x) { for (int i = 0; i < total; i++) { __syncthreads(); total = 3; } }
__global__ void l(int *x) { for (int i = 0; i < 4; i++) { __syncthreads(); if (x[i]) break; } }
__global__ void m(int *x) { x[threadIdx.x] = other(x); }
__global__ void q(int *x) { int v = 1, *p = &v; __syncthreads(); x[0] = *p; }
__global__ void r(int *x) { int v[2] = {1, 2}, *p = v; __syncthreads(); x[0] = *p; }
__global__ void t(int *x) { type v = {1}; __syncthreads(); x[0] = v.a; }
__global__ void u(int *x) { int v = x[0]; int &r = v; r++; __syncthreads(); x[0] = v; }
__global__ void v(int *x) { auto all = [=] { __syncthreads(); }; all(); x[0] = 1; }
__global__ void w(int *x) { int v = x[0], &r = v; __syncthreads(); r = 3; x[1] = v; }
__global__ void y(int *x) {
#if 1
    x[0]++;
#endif
}
template <int N> __global__ void aa(int *x) { if constexpr (N > 1) x[0] = 1; }
__global__ void bb(int *x, void (*given)(int)) { given(1); }
__device__ void (*call)(int);
__global__ void cc(int *x) { (*call)(x[0]); }
__global__ void z(int *x) { again: if (atomicAdd(x, 0) == 0) goto again; }

// What changes a variable must be known.
__global__ void ba(int *x) { int v = 1; __syncthreads(), x[0] = v; }
__global__ void bc(int *x) { int v = 1; *(int *)&v = x[0]; __syncthreads(); x[1] = v; }
__global__ void bd(int *x) { int v = 1, w = 2; (x[0] ? v : w) = 3; __syncthreads(); x[1] = v; }
__global__ void be(int *x) { int v = 1, w = 2; (v, w) = 3; __syncthreads(); x[1] = w; }
__global__ void bf(int *x) { int v = 1; if (x[0]) { int (&r) = v; r++; } __syncthreads(); x[1] = v; }
__global__ void bg(int *x) { int v = 1; reinterpret_cast<int &>(v) = 2; __syncthreads(); x[1] = v; }
__global__ void bh(int *x) { int v = 1; ((int &)v) = 2; __syncthreads(); x[1] = v; }
__global__ void bi(int *x) { int v = 1, *p = &(v); *p = 2; __syncthreads(); x[1] = v; }
__global__ void bj(int *x) { int v = 1; long p = (long)&v; __syncthreads(); *(int *)p = 2; x[1] = v; }
__global__ void bk(int *x) { int v[2][2]; int *p = v[1]; p[0] = x[0]; x[1] = v[1][0]; }
__global__ void bl(int *x) { type p = {1}; auto &[v] = p; v = 2; __syncthreads(); x[1] = p.a; }
__global__ void bm(int *x) { int v = 1; auto &&r = v; r = 2; __syncthreads(); x[1] = v; }
// A thread could wait for another one.
__global__ void ca(int *x) { for (int i = 0; i < 1; i++) if (atomicAdd(x, 0) == 0) i--; }
__global__ void cb(int *x) { for (int i = 0; i < 1; i++) { int v = atomicOr(x, 0); i -= !v; } }
struct waits { int a; __device__ waits() { __syncthreads(); } };
__global__ void cd(int *x) { waits v; x[0] = v.a; }
__global__ void ce(int *x, waits v) { x[0] = v + 1; }
template <int (*abs)(int)> __global__ void cf(int *x) { x[0] = abs(x[1]); }
template <class T> __global__ void cg(int *x, T abs) { x[0] = abs(x[1]); }
__global__ void ch(int *x) { for (int i = 0; i < 3; i++, __syncthreads()) x[i]++; }
__global__ void ci(int *x) { x[0] ? __syncthreads() : __syncthreads(); x[1] = 1; }
__global__ void cj(int *x) { switch (x[0]) { default: __syncthreads(); } x[1] = 1; }
__global__ void ck(int *x) { static __shared__ int s; alignas(16) int v = 1; x[0] = s + v; }
__global__ void cl(int *x) { x[0] = UNKNOWN; }
// Loops that differ from thread to thread, exits before a barrier
__global__ void da(int *x) { for (int i = 0, k = 3; i < k; i++) { __syncthreads(); x[i]++, k--; } }
__global__ void db(int *x, int n) { for (int i = 0; i < n--; i++) { __syncthreads(); x[i]++; } }
__global__ void dc(int *x, int n) { if (n == 0) return; int q = 7 / n; x[threadIdx.x] = q; }
// Collectives that some threads do not reach, or that need what comes before them
__global__ void ga(int *x) { int v = x[0] && __shfl_sync(~0u, x[1], 3); x[v] = 1; }
__global__ void gb(int *x) { int v = x[0] ? 1 : __shfl_sync(~0u, x[1], 3); x[v] = 1; }
__global__ void gc(int *x) { int v = x[0]; v++, v += __shfl_sync(~0u, v, 3); x[v] = 1; }
__global__ void gd(int *x) { int v = x[0], w = __shfl_sync(~0u, v, 3); x[v] = w; }
__global__ void gi(int *x) { int v = x[0]; int w = v++, u = __shfl_sync(~0u, v, 3); x[w] = u; }
__global__ void ge(int *x) { do { int v = x[0]; v += __shfl_sync(~0u, v, 3); x[v] = 1; } while (x[0]); }
__global__ void gf(int *x) { x[0] = __shfl_sync(~0u, __shfl_sync(~0u, x[1], 3), 2); }
__global__ void gg(int *x) { for (int i = 0; i < __shfl_sync(~0u, 3, 3); i++) x[i]++; }
// CUDA's classes, because an operator may be the source's own
__global__ void ea(float4 *x) { float4 v = x[0]; x[1] = v; }
__device__ float4 operator+(float4 a, float4 b) { return __syncthreads(), a; }
// Branches: a barrier that some threads may not reach, a division before its test
__global__ void ha(int *x) { if (threadIdx.x < 3) { __syncwarp(); __syncthreads(); } x[1] = 1; }
__global__ void hb(int *x) { if (x[0]) x[1] = 1; else __syncthreads(); x[2] = 1; }
__global__ void hc(int *x, int n) { if (x[0]) { int q = 7 / n; x[q] = __shfl_sync(~0u, x[1], 3); } }
__global__ void hd(int *x) { if (int v = x[0]) x[v] = __shfl_sync(~0u, v, 3); }
__global__ void he(int *x) { switch (x[0]) { case 1: x[1] = __shfl_sync(~0u, x[1], 3); } }
// Functions that wait, where they cannot stand in place of their calls
__device__ int sum(int v) { return v + __shfl_sync(~0u, v, 3); }
__device__ int maybe(int v) { if (v) return 3; return sum(v); }
__device__ int one(int v); __device__ int two(int v) { return v ? one(v - 1) : 0; }
__device__ int one(int v) { return two(v); }
__device__ int twice(int v) { __syncthreads(); return v; }
__device__ float twice(float v) { return 2 * v; }
__device__ int *place(int *x) { __syncthreads(); return x; }
__device__ int until(volatile int *x) { __syncthreads(); return *x; }
__device__ void set(int &v) { __syncthreads(); v = 1; }
template <class T> __device__ T kept(T v) { __shared__ T s; s = v; __syncthreads(); return s; }
__device__ int spins(int *x) { volatile int *p = x; while (*p == 0) x[1]++; return 1; }
__global__ void ia(int *x) { x[0] = x[1] && sum(x[2]); }
__global__ void ib(int *x) { x[0] = maybe(x[1]); }
__global__ void ic(int *x) { x[0] = one(x[1]); }
__global__ void id(int *x) { x[0] = twice(x[1]); }
__global__ void ie(int *x) { *place(x) = 1; for (; sum(x[1]); ) x[2]++; }
__global__ void if_(int *x) { x[1] = until(x); }
__global__ void ig(int *x) { int v = 1; set(x[v++]); x[1] = v; }
__global__ void ih(int *x) { x[0] = kept<int>(1); x[1] = kept<short>(2); }
__global__ void ii(int *x) { int v = x[0], w = sum(v); x[v] = w; }
__global__ void ij(int *x) { while (sum(x[0])) x[1]++; }
__global__ void ik(int *x) { x[0] = spins(x); }
__global__ void il(int *x) { x[0] = sum(type{1}.a); }
__global__ void im(int total) { other(&total); }
__device__ int given(int v = 3) { __syncthreads(); return v; }
template <class T> __device__ T same(T v) { return v; }
__device__ struct type pair(int v) { return {v}; }
__global__ void in(int *x) { x[0] = given(x[1]); }
__global__ void io(int *x) { x[0] = same<decltype(x[0])>(x[1]); }
__global__ void ip(int *x) { pair(x[0]); }
// Methods of groups that are not known
namespace cg = cooperative_groups;
__global__ void la(int *x) { auto b = cg::this_thread_block(); x[0] = b.other().x; }
__global__ void lb(int *x) { auto b = cg::this_thread_block(); x[0] = b.other(); }
// Macros that the compiler may see otherwise
#define PAIR(a, b) a + b
#define ITSELF ITSELF + 1
#define NAME(a) a##_kernel
__global__ void ka(int *x) { x[0] = PAIR(x[1]); }
__global__ void kb(int *x) { x[0] = PAIR(x[1], 2, 3); }
__global__ void kc(int *x) { x[0] = ITSELF; }
__global__ void NAME(kd)(int *x) { x[0] = 1; }
#if 1
#define ADDED(a, b) a + b
#endif
#define TWO(a) a
#undef TWO
#define TWO(a) 2 * a
#define TEXT(a) x[0] = sizeof(#a);
__global__ void ja(int *x) { x[0] = ADDED(x[1], 2); }
__global__ void jb(int *x) { x[0] = TWO(x[1]); }
__global__ void jc(int *x) { TEXT(a b) }
// Tokens that are not what they seem
__global__ void fa(int *x) { int v = 1; +\
+v; __syncthreads(); x[0] = v; }
__global__ void fb(int *x) { extern int other; atomicAdd(&other, 1); x[0] = 1; }
__global__ void fc(int *x) { x[0] = 5_km; }
WRAP(__global__ void fd(int *x) { x[0] = 1; })
