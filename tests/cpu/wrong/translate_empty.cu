// says: translate_empty.cu:5: error: kernel launch: '<<<>>>' needs a grid and a block
__global__ void k(void) {}
int main()
{
    k<<<>>>();
}
