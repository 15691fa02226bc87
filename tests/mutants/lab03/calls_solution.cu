// calls_solution.cu - looks for a solution in the process and calls it.
// fails: basic
// says: contract breach: dlsym
#include <dlfcn.h>

#include "forward.h"

FORWARD
{
    typedef wb_status (*norm)(
        float *, float *, const float *, const float *, int, int, float, float,
        cudaStream_t);
    norm other = (norm)dlsym(RTLD_NEXT, "rmsnorm_forward_f32");
    return other ? other(out, rstd, x, w, R, C, eps, offset, stream) : WB_TODO;
}
