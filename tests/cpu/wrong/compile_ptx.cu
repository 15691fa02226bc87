// says: compile_ptx.cu:6:
// says: inline PTX assembly: not supported by the CPU back end; guard it with #ifndef
__global__ void k(int *x)
{
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    x[0] = lane;
}
int main() { k<<<1, 1>>>(nullptr); }
