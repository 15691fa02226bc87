// says: translate_host_variable.cu:16:19: error: kernel k uses the host variable scale: pass it as an argument
// says: translate_host_variable.cu:17:9: error: kernel k uses the host variable count: pass it as an argument
// says: translate_host_variable.cu:18:12: error: kernel k uses the host variable weights: pass it as an argument
// says: translate_host_variable.cu:19:12: error: kernel k uses the host array table: declare it __constant__
// says: translate_host_variable.cu:20:12: error: kernel k uses the host array fixed: declare it __constant__
// says: translate_host_variable.cu:21:5: error: kernel k declares a __constant__ variable: declare it outside of functions
float scale = 2;
static int count;
static float *weights, unused;
const float table[3] = {1, 2, 3};
static constexpr int fixed[3] = {1, 2, 3};
const float allowed = 3;

__global__ void k(float *x)
{
    x[0] = x[1] * scale + allowed;
    if (count > 2) x[1] = 0;
    x[2] = weights[threadIdx.x];
    x[3] = table[threadIdx.x];
    x[4] = fixed[1];
    __constant__ float inside[2];
    x[5] = inside[0];
}
int main() { k<<<1, 1>>>(weights); }
