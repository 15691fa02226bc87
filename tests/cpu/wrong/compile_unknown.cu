// says: compile_unknown.cu:6:
// says: no_kernel
int main()
{
    float *x = nullptr;
    no_kernel<<<1, 32>>>(x);
}
