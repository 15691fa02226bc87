// says: translate_arguments.cu:5: error: kernel launch: '(' and the kernel's arguments must follow '>>>'
__global__ void k(void) {}
int main()
{
    k<<<1, 32>>>;
}
