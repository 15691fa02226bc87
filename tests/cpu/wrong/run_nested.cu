// says: run_nested.cu:7: kernel child is launched from a kernel: pointer argument 1 is local or shared memory of the parent, which a child cannot access
__global__ void child(int *x) { *x = 1; }
__global__ void parent()
{
    __shared__ int x;
    x = 0;
    child<<<1, 1>>>(&x);
}
int main()
{
    parent<<<1, 1>>>();
}
