/* A graph captured from a stream */
#include <cstdio>
__global__ void step(int *x)
{
    *x = *x * 2 + 1;
}
int main()
{
    int *x, h;
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t e;
    cudaMalloc(&x, 4);
    cudaMemset(x, 0, 4);
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    for (int i = 0; i < 3; i++)
        step<<<1, 1, 0, s>>>(x);
    cudaStreamEndCapture(s, &g);
    cudaGraphInstantiate(&e, g, NULL, NULL, 0);
    cudaGraphLaunch(e, s);
    cudaGraphLaunch(e, s);
    cudaStreamSynchronize(s);
    cudaMemcpy(&h, x, 4, cudaMemcpyDeviceToHost);
    printf(h == 63 ? "right\n" : "wrong\n");
    return h != 63;
}
