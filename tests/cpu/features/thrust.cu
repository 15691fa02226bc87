/* Thrust: sort and reduce */
#include <cstdio>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
int main()
{
    thrust::device_vector<int> v(1000);
    for (int i = 0; i < 1000; i++)
        v[i] = (i * 37) % 1000;
    thrust::sort(v.begin(), v.end());
    int right =
        v[0] == 0 && v[999] == 999 && thrust::reduce(v.begin(), v.end()) == 499500;
    printf(right ? "right\n" : "wrong\n");
    return !right;
}
