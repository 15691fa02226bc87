// host_only.h - a header of host functions, included by translate_host_call.cu.
static inline float from_header(float x)
{
    return x + 1;
}
