// says: translate_kernel_value.cu:2:16: error: a kernel must return void: write the results to an array
__global__ int one(int *x) { return *x; }
int main() { one<<<1, 1>>>(nullptr); }
