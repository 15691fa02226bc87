/* capped.cuh - the soft cap of a logit, the same for every rung. */
static __device__ float capped(float x, float softcap)
{
    return softcap > 0 ? softcap * tanhf(x / softcap) : x;
}
