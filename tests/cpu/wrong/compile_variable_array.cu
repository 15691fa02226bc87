// says: compile_variable_array.cu:7:
// says: error: variable length array
static int on_the_host(int n) { char c[n]; return sizeof c; }

__global__ void k(float *x, int n)
{
    float a[n];
    for (int i = 0; i < n; i++)
        a[i] = x[i];
    x[0] = a[n - 1];
}
int main(int argc, char **) { return on_the_host(argc); }
