// inner.cuh - included by a header in another folder.
#pragma once
static __device__ __noinline__ float inner_value(int i)
{
    return 10.0f * i;
}
