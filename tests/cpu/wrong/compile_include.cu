// says: compile_include.cu:5:
// says: FLT_MAX
__global__ void k(float *x)
{
    x[0] = fmaxf(x[0], -FLT_MAX);  // nvcc, too, needs <float.h>
}
int main() {}
