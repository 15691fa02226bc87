/* table.cuh - the table of cosines and sines, the same for every rung: one thread per
 * pair, in double, because in float the angle of position p would be off by 2^-24 p. */
static __global__ void table_kernel(float *cis, long long pairs, int half, float base)
{
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;  // [0, P*N/2)
    if (at >= pairs) return;
    double a = (double)(at / half) * pow((double)base, -(double)(at % half) / half);
    cis[2 * at] = (float)cos(a);
    cis[2 * at + 1] = (float)sin(a);
}

wb_status rope_table_f32(float *cis, int P, int N, float base, cudaStream_t stream)
{
    if (P < 0 || N < 0 || N % 2 || !(base > 0.0f)) return WB_BAD_SHAPE;
    if (P == 0 || N == 0) return WB_OK;
    if (!cis) return WB_BAD_SHAPE;
    long long pairs = (long long)P * (N / 2);
    table_kernel<<<(unsigned)((pairs + 255) / 256), 256, 0, stream>>>(
        cis, pairs, N / 2, base);
    return wb_launched();
}
