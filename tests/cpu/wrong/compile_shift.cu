// says: compile_shift.cu:5:
// says: only integers have shifts
// says: the amount is an integer
// says: compile_shift.cu:6:
__global__ void k(float *x, int n) { n = x[0] << n;
    n >>= x[1];
    x[0] = n; }
int main() { k<<<1, 32>>>(nullptr, 1); }
