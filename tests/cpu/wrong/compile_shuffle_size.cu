// says: warp operation: only types of 1 to 8 bytes
__global__ void k(float4 *x) { *x = __shfl_sync(~0u, *x, 0); }
int main() { k<<<1, 32>>>(nullptr); }
