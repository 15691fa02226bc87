// says: translate_host_library.cu:12:17: error: kernel k uses std::max, which is host code: write it without std::
// says: translate_host_library.cu:13:10: error: kernel k uses std::swap, which is host code: write device code
// says: translate_host_library.cu:14:10: error: kernel k uses std::vector, which is host code: write device code
// says: translate_host_library.cu:15:12: error: kernel k calls rand, a function of the host's library: device code cannot call it
// says: translate_host_library.cu:16:19: error: kernel k has a throw: there are no exceptions in device code
#include <algorithm>
#include <cstdlib>
#include <vector>

__global__ void k(float *x)
{
    x[0] = std::max(x[1], x[2]);
    std::swap(x[1], x[2]);
    std::vector<float> v(3);
    x[3] = rand();
    if (x[3] < 0) throw 1;
}
int main() { k<<<1, 1>>>(nullptr); }
