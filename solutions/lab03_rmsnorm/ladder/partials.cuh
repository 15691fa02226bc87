/* partials.cuh - dw for the rungs from 02_warp_per_row.cu on: each share of the rows
 * leaves its sums in a row of the workspace, and a second kernel adds those rows. */
constexpr int WARP = 32;
constexpr int ROWS_PER_SHARE = 32;  // of one partial sum of dw
constexpr int MAX_SHARES = 65535;   // the limit of gridDim.y

static __global__ void add_partials(float *dw, const float *partial, int P, int C)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;  // [0, C)
    if (c >= C) return;
    float sum = 0.0f;
    for (int p = 0; p < P; p++)
        sum += partial[(size_t)p * C + c];
    dw[c] += sum;
}

static int shares(int R)
{
    int P = (R + ROWS_PER_SHARE - 1) / ROWS_PER_SHARE;
    return P < MAX_SHARES ? P : MAX_SHARES;
}

static size_t backward_workspace(int R, int C)
{
    return R < 1 || C < 1 ? 0 : (size_t)shares(R) * C * sizeof(float);
}
