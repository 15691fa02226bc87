/* attention_backward.cu - lab 05, parts 05.5 and 05.7: attention backward in float.
 * attention.h is the specification; contract.cuh has the launchers that call `backward`.
 */
#include "contract.cuh"

// BEGIN SOLUTION 05.5 (about 200 lines)
//> /* 05.5 in four steps. p and ds (B,H,T,S) are in the workspace: ds = p (dout . v - delta),
//>  * with delta = dout . out, and the factor scale. `./grade lab05 -k back_dv` grades steps
//>  * 1 and 2, `-k back_dq` steps 1 and 3, `-k back` all four.
//>  *
//>  * 05.7: the same without p and ds in memory. The guide, "Backward without scores in
//>  * memory", lists the steps. */
//> constexpr int THREADS = 128;  // of a block
//>
//> static unsigned blocks_for(size_t threads)
//> {
//>     return (unsigned)((threads + THREADS - 1) / THREADS);
//> }
//>
//> static __device__ size_t thread_id(void)
//> {
//>     return blockIdx.x * (size_t)THREADS + threadIdx.x;
//> }
//>
//> /* Steps 1 and 3. A thread for each score. */
//> template <typename E>
//> static __global__ void p_ds_kernel(float *p, float *ds, backward_call<E> c)
//> {
//>     sizes z = c.z;
//>     size_t n = thread_id(), row = n / z.S, b = row / z.T / z.H;
//>     int j = n % z.S, t = row % z.T, h = row / z.T % z.H;
//>     if (b >= z.B) return;
//>     p[n] = ds[n] = 0.0f;  // where a key is not seen
//>     // TODO(05.5, step 1): return where query t does not see key j, as in 05.4. Else
//>     // p[n] = exp(score - lse[row]), with the score of the forward pass. About 8 lines.
//>     // TODO(05.5, step 3): ds[n] = scale p (dp - delta), where dp = dout . v[j] and
//>     // delta = dout . out, dot products over D. About 8 lines.
//> }
//>
//> /* Steps 2 and 4. A thread for each element of dk and dv. */
//> template <typename E>
//> static __global__ void dkdv_kernel(const float *p, const float *ds, backward_call<E> c)
//> {
//>     sizes z = c.z;
//>     size_t n = thread_id(), b = n / z.D / z.K / z.S;
//>     if (b >= z.B) return;
//>     int d = n % z.D, g = n / z.D % z.K, j = n / z.D / z.K % z.S;
//>     // TODO(05.5, step 2): dv[j][d] is the sum of p[t][j] dout[t][d] over the heads h of
//>     // group g, and over t from max(j - (S-T), 0) on. About 8 lines.
//>     // TODO(05.5, step 4): dk[j][d], the same sum of ds[t][j] q[t][d]. About 3 lines.
//> }
//>
//> /* Step 3. A thread for each element of dq. */
//> template <typename E>
//> static __global__ void dq_kernel(const float *ds, backward_call<E> c)
//> {
//>     sizes z = c.z;
//>     size_t n = thread_id(), b = n / z.D / z.H / z.T;
//>     if (b >= z.B) return;
//>     int d = n % z.D, h = n / z.D % z.H, t = n / z.D / z.H % z.T;
//>     // TODO(05.5, step 3): dq[t][d] is the sum of ds[t][j] k[j][d]. About 6 lines.
//> }
//>
//> template <typename E> static size_t backward_workspace(sizes z)
//> {
//>     return 2 * (size_t)z.B * z.H * z.T * z.S * sizeof(float);
//> }
//>
//> template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
//> {
//>     sizes z = c.z;
//>     size_t scores = (size_t)z.B * z.H * z.T * z.S;
//>     float *p = (float *)c.workspace, *ds = p + scores;
//>     return WB_TODO;  // TODO(05.5, step 2): delete this line
//>     p_ds_kernel<<<blocks_for(scores), THREADS, 0, s>>>(p, ds, c);
//>     dkdv_kernel<<<blocks_for((size_t)z.B * z.S * z.K * z.D), THREADS, 0, s>>>(
//>         (const float *)p, (const float *)ds, c);
//>     dq_kernel<<<blocks_for((size_t)z.B * z.T * z.H * z.D), THREADS, 0, s>>>(
//>         (const float *)ds, c);
//>     return wb_launched();
//> }
#include "attention_tiled_backward.cuh"  // the kernels, as templates on the element type

template <typename E> static size_t backward_workspace(sizes z)
{
    return (size_t)z.B * z.H * z.T * sizeof(float);  // delta
}

template <typename E> static wb_status backward(backward_call<E> c, cudaStream_t s)
{
    return tiled_backward(c, s);
}
// END SOLUTION

DEFINE_BACKWARD(float, f32)
