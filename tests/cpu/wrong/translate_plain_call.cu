// says: translate_plain_call.cu:7: error: kernel k is called like a function
// says: k<<<grid, block>>>(...)
template <class T> __global__ void k(T *x) { x[threadIdx.x] = 1; }
int main()
{
    float *x = nullptr;
    k(x);
}
