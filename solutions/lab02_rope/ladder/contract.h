/* contract.h - the end of every rung: the functions of rope.h in each element type, from
 * the template rotate above the #include. */
template <typename E>
static wb_status checked_rotate(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    if (B < 0 || T < 0 || H < 0 || D < 0 || N < 0 || N > D || N % 2) return WB_BAD_SHAPE;
    if (ld < (long long)H * D) return WB_BAD_SHAPE;
    if (B == 0 || T == 0 || H == 0 || D == 0) return WB_OK;
    if (!out || !x || (!cis && N > 0)) return WB_BAD_SHAPE;
    if ((long long)B * T > INT_MAX) return WB_BAD_SHAPE;
    rotate(out, x, cis, pos, sign, B, T, H, D, N, ld, stream);
    return wb_launched();
}

#define DEFINE(E, e)                                                                     \
    wb_status rope_forward_##e(                                                          \
        E *out, const E *x, const float *cis, const int *pos, int B, int T, int H,       \
        int D, int N, int ld, cudaStream_t stream)                                       \
    {                                                                                    \
        return checked_rotate(out, x, cis, pos, 1.0f, B, T, H, D, N, ld, stream);        \
    }                                                                                    \
    wb_status rope_backward_##e(                                                         \
        E *dx, const E *dout, const float *cis, const int *pos, int B, int T, int H,     \
        int D, int N, int ld, cudaStream_t stream)                                       \
    {                                                                                    \
        return checked_rotate(dx, dout, cis, pos, -1.0f, B, T, H, D, N, ld, stream);     \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
#undef DEFINE
