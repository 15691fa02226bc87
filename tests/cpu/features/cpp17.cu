/* Templates, a lambda with __device__, a struct as argument, if constexpr */
#include <cstdio>
#include <type_traits>
template <typename T> struct view {
    T *p;
    int n;
    __device__ T &operator[](int i)
    {
        return p[i];
    }
};
template <typename T, typename F> __global__ void apply(view<T> v, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if constexpr (std::is_same<T, float>::value)
        if (i < v.n) v[i] = f(v[i], i);
}
int main()
{
    float h[100] = {}, *x, a = 2;
    cudaMalloc(&x, sizeof h);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    apply<<<2, 64>>>(
        view<float>{x, 100}, [a] __device__(float v, int i) { return v + a * i; });
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 100; i++)
        if (h[i] != 2 * i) {
            printf("wrong\n");
            return 1;
        }
    printf("right\n");
    return 0;
}
