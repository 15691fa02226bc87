/* test_kvcache_status.c - the statuses and workspaces that the contract of lab 07 promises
 * beyond the graded cases. sample: test_sample.c.
 */
// links: solutions/lab07_kvcache.o
#include "device.h"

#include "kvcache.h"

static int *zeros;

static void alloc_zeros(void)
{
    alloc_scratch();
    zeros = (int *)scratch + SCRATCH_BYTES / 8;
}

TestSuite(kvcache_status, .init = alloc_zeros, .fini = free_scratch);

static wb_status append(int B, int T, int S, int K, int D, int ld)
{
    return kv_append_f32(
        scratch, scratch + 8192, scratch + 16384, scratch + 24576, zeros, NULL, B, T, S,
        K, D, ld, NULL);
}

static wb_status unroll(int B, int T, int S, int K, int D, int ld)
{
    return kv_unroll_f32(
        scratch, scratch + 8192, scratch + 16384, scratch + 24576, scratch + 32768,
        scratch + 40960, zeros, B, T, S, K, D, ld, NULL);
}

struct sizes {
    int B, S, H, K, D, N, ldq, ldkv;
};
static const struct sizes small = {2, 8, 4, 2, 16, 8, 64, 32};

static wb_status decode_at(struct sizes z, float *const p[7], size_t space)
{
    return attention_decode_f32(
        p[0], p[1], p[2], p[3], p[4], p[5], NULL, (int *)p[6], z.B, z.S, z.H, z.K, z.D,
        z.N, z.ldq, z.ldkv, 0.25f, scratch + 65536, space, NULL);
}

static wb_status decode(struct sizes z)
{
    float *p[7] = {scratch,         scratch + 4096,  scratch + 8192, scratch + 16384,
                   scratch + 20480, scratch + 24576, (float *)zeros};
    return decode_at(z, p, SCRATCH_BYTES / 4);
}

Test(kvcache_status, tokens)
{
    cr_expect(append(2, 3, 8, 2, 16, 32) == WB_OK);
    cr_expect(unroll(2, 3, 8, 2, 16, 32) == WB_OK);
    static const struct {
        int B, T, S, K, D, ld;
        wb_status status;
    } bad[] = {
        {-1, 3, 8, 2, 16, 32, WB_BAD_SHAPE},  {2, -3, 8, 2, 16, 32, WB_BAD_SHAPE},
        {2, 3, 0, 2, 16, 32, WB_BAD_SHAPE},   {2, 3, 8, 0, 16, 32, WB_BAD_SHAPE},
        {2, 3, 8, 2, 16, 31, WB_BAD_SHAPE},   {2, 3, 8, 2, 8, 32, WB_UNSUPPORTED},
        {2, 3, 8, 2, 20, 40, WB_UNSUPPORTED}, {2, 3, 8, 1, 264, 264, WB_UNSUPPORTED},
        {2, 3, 8, 2, 16, 33, WB_BAD_ALIGN},   {0, 3, 8, 2, 16, 32, WB_OK},
        {2, 0, 8, 2, 16, 32, WB_OK},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect(
            append(bad[i].B, bad[i].T, bad[i].S, bad[i].K, bad[i].D, bad[i].ld) ==
                bad[i].status,
            "kv_append, row %zu", i);
        cr_expect(
            unroll(bad[i].B, bad[i].T, bad[i].S, bad[i].K, bad[i].D, bad[i].ld) ==
                bad[i].status,
            "kv_unroll, row %zu", i);
    }
}

Test(kvcache_status, pointers_of_tokens)
{
    for (int i = 0; i < 6; i++) {
        float *p[6] = {scratch,         scratch + 4096,  scratch + 8192,
                       scratch + 12288, scratch + 16384, scratch + 20480};
        for (int off = 0; off < 2; off++) {
            p[i] = off ? p[i] + 1 : NULL;
            wb_status status = off ? WB_BAD_ALIGN : WB_BAD_SHAPE;
            if (i < 4)
                cr_expect(
                    kv_append_f32(
                        p[0], p[1], p[2], p[3], NULL, NULL, 2, 3, 8, 2, 16, 32, NULL) ==
                    status);
            cr_expect(
                kv_unroll_f32(
                    p[0], p[1], p[2], p[3], p[4], p[5], zeros, 2, 3, 8, 2, 16, 32,
                    NULL) == status);
            p[i] = scratch + 4096 * i;
        }
    }
    cr_expect(
        kv_unroll_f32(
            scratch, scratch + 4096, scratch + 8192, scratch + 12288, scratch + 16384,
            scratch + 20480, NULL, 2, 3, 8, 2, 16, 32, NULL) == WB_BAD_SHAPE,
        "kv_unroll wants pos");
}

Test(kvcache_status, no_tokens_to_unroll)
{
    static const float nothing[4096]; /* of the first row's S slots */
    static float got[4096];
    cr_expect(unroll(2, 0, 8, 2, 16, 32) == WB_OK);
    back(got, scratch, sizeof got);
    cr_expect_arr_eq(got, nothing, sizeof got, "kall was written");
}

Test(kvcache_status, decode_sizes)
{
    cr_expect(decode(small) == WB_OK);
    static const struct {
        size_t field; /* of struct sizes, in ints */
        int value;
        wb_status status;
    } bad[] = {
        {0, -1, WB_BAD_SHAPE},  {0, 0, WB_OK},           {1, 0, WB_BAD_SHAPE},
        {2, 3, WB_BAD_SHAPE},   {2, 0, WB_BAD_SHAPE},    {3, 0, WB_BAD_SHAPE},
        {4, 8, WB_UNSUPPORTED}, {4, 12, WB_UNSUPPORTED}, {5, 7, WB_BAD_SHAPE},
        {5, -2, WB_BAD_SHAPE},  {5, 18, WB_BAD_SHAPE},   {6, 63, WB_BAD_SHAPE},
        {6, 66, WB_BAD_ALIGN},  {7, 31, WB_BAD_SHAPE},   {7, 33, WB_BAD_ALIGN},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sizes z = small;
        ((int *)&z)[bad[i].field] = bad[i].value;
        cr_expect(
            decode(z) == bad[i].status, "row %zu: %s", i, wb_status_name(decode(z)));
    }
    struct sizes wide = {1, 8, 1, 1, 264, 8, 264, 264};
    cr_expect(decode(wide) == WB_UNSUPPORTED);
}

Test(kvcache_status, decode_pointers_and_space)
{
    for (int i = 0; i < 7; i++) {
        float *p[7] = {scratch,         scratch + 4096,  scratch + 8192, scratch + 16384,
                       scratch + 20480, scratch + 24576, (float *)zeros};
        float *keep = p[i];
        p[i] = NULL;
        cr_expect(
            decode_at(small, p, SCRATCH_BYTES / 4) == WB_BAD_SHAPE, "pointer %d is NULL",
            i);
        p[i] = keep + 1;
        if (i < 6)
            cr_expect(
                decode_at(small, p, SCRATCH_BYTES / 4) == WB_BAD_ALIGN, "pointer %d", i);
        p[i] = keep;
        size_t space = attention_decode_workspace_f32(2, 8, 4, 2, 16);
        cr_expect(decode_at(small, p, space) == WB_OK);
        cr_expect(decode_at(small, p, space - 1) == WB_NO_SPACE);
    }
}

Test(kvcache_status, an_error_of_the_device_is_reported)
{
    cr_assert(cudaSetDevice(99) != cudaSuccess);
    cr_expect(append(2, 3, 8, 2, 16, 32) == WB_BAD_CUDA);
    cr_expect(unroll(2, 3, 8, 2, 16, 32) == WB_BAD_CUDA);
    cr_expect(decode(small) == WB_BAD_CUDA);
    cudaGetLastError(); /* clears the error */
    cr_expect(decode(small) == WB_OK);
}

Test(kvcache_status, workspace_never_falls)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 16, 63, 64, 65, 200, 256, 257, 1000, 4096};
    int n = sizeof sizes / sizeof *sizes;
    int base[5] = {2, 300, 8, 4, 64};
    for (int which = 0; which < 5; which++) {
        size_t before = 0, before_16 = 0;
        for (int i = 0; i < n; i++) {
            int z[5] = {base[0], base[1], base[2], base[3], base[4]};
            z[which] = which == 2 ? 4 * sizes[i] : sizes[i]; /* H: a multiple of K */
            if (which == 3 && 8 % sizes[i]) break;           /* K divides H */
            size_t here = attention_decode_workspace_f32(z[0], z[1], z[2], z[3], z[4]);
            size_t here_16 =
                attention_decode_workspace_bf16(z[0], z[1], z[2], z[3], z[4]);
            cr_expect(
                here >= before && here_16 >= before_16, "size %d: %d", which, z[which]);
            before = here, before_16 = here_16;
        }
    }
}
