/* tma.cu - cuda/tma.cuh and cuda/mbarrier.cuh: loads and stores of boxes that leave the
 * tensor on every side, swizzle, bytes without a tensor map, a ring of buffers. */
#include "hopper.h"

struct box_at {
    int c[TMA_DIMS];
    int shift;  // where in shared memory it lies: a multiple of 128
};

template <int DIMS>
static __device__ void load_box(void *smem, const tensor_map *map, uint64_t *b, box_at at)
{
    const int *c = at.c;
    if constexpr (DIMS == 2) tma_load(smem, map, b, c[0], c[1]);
    if constexpr (DIMS == 3) tma_load(smem, map, b, c[0], c[1], c[2]);
    if constexpr (DIMS == 4) tma_load(smem, map, b, c[0], c[1], c[2], c[3]);
}
template <int DIMS>
static __device__ void store_box(const tensor_map *map, const void *smem, box_at at)
{
    const int *c = at.c;
    if constexpr (DIMS == 2) tma_store(map, smem, c[0], c[1]);
    if constexpr (DIMS == 3) tma_store(map, smem, c[0], c[1], c[2]);
    if constexpr (DIMS == 4) tma_store(map, smem, c[0], c[1], c[2], c[3]);
}

/* out: the box as it lies in shared memory */
template <int DIMS>
__global__ void
load(char *out, const __grid_constant__ tensor_map map, box_at at, int bytes)
{
    extern __shared__ __align__(1024) char smem[];
    __shared__ uint64_t loaded;
    if (threadIdx.x == 0) {
        tma_prefetch(&map);
        mbarrier_init(&loaded, 1);
        mbarrier_fence_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_expect(&loaded, bytes);
        load_box<DIMS>(smem + at.shift, &map, &loaded, at);
    }
    mbarrier_wait(&loaded, 0);
    for (int i = threadIdx.x; i < bytes; i += blockDim.x)
        out[i] = smem[at.shift + i];
}
template <int DIMS>
__global__ void
store(const char *in, const __grid_constant__ tensor_map map, box_at at, int bytes)
{
    extern __shared__ __align__(1024) char smem[];
    for (int i = threadIdx.x; i < bytes; i += blockDim.x)
        smem[at.shift + i] = in[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_box<DIMS>(&map, smem + at.shift, at);
        tma_commit();
        tma_wait<0>();
    }
}

/* Calls f(offset in the tensor or -1, byte in shared memory) for each element of the box. */
template <typename E, typename F>
static void each_element(const tma_tensor &t, box_at at, F f)
{
    size_t place = 0;
    int i[TMA_DIMS] = {}, box[TMA_DIMS] = {1, 1, 1, 1};
    for (int d = 0; d < t.dims; d++)
        box[d] = (int)t.box[d];
    for (i[3] = 0; i[3] < box[3]; i[3]++)
        for (i[2] = 0; i[2] < box[2]; i[2]++)
            for (i[1] = 0; i[1] < box[1]; i[1]++)
                for (i[0] = 0; i[0] < box[0]; i[0]++, place += sizeof(E)) {
                    long offset = 0;
                    for (int d = 0; d < t.dims; d++) {
                        int c = at.c[d] + i[d];
                        bool inside = c >= 0 && (size_t)c < t.size[d];
                        offset =
                            inside && offset >= 0 ? offset + c * (long)t.stride[d] : -1;
                    }
                    f(offset, swizzled(place + at.shift, t.swizzle) - at.shift);
                }
}

template <typename E, int DIMS>
static void test_box(const char *what, tma_tensor t, box_at at)
{
    size_t count = t.stride[DIMS - 1] * t.size[DIMS - 1], bytes = sizeof(E);
    for (int d = 0; d < DIMS; d++)
        bytes *= t.box[d];
    E *tensor = managed<E>(count);
    char *tile = managed<char>(bytes);
    tensor_map map;
    bool right = make_tensor_map(&map, tensor, t);
    for (size_t i = 0; i < count; i++)
        tensor[i] = E((float)(1 + i % 251));
    memset(tile, 0x55, bytes);
    load<DIMS><<<1, 32, bytes + at.shift>>>(tile, map, at, (int)bytes);
    right = right && finished();
    each_element<E>(t, at, [&](long offset, size_t byte) {
        float want = offset < 0 ? 0.0f : (float)tensor[offset];
        right = right && (float)*(E *)(tile + byte) == want;
    });
    tap(right, "tma_load: %s, %d dimensions, %d bytes of swizzle", what, DIMS, t.swizzle);

    if (at.c[0] < 0) {  // tma_store takes no negative coordinates
        cudaFree(tensor), cudaFree(tile);
        return;
    }
    std::vector<float> want(count);
    for (size_t i = 0; i < count; i++)
        want[i] = (float)tensor[i];
    int n = 0;
    each_element<E>(t, at, [&](long offset, size_t byte) {
        *(E *)(tile + byte) = E(-(float)(n % 253));
        if (offset >= 0) want[(size_t)offset] = -(float)(n % 253);
        n++;
    });
    store<DIMS><<<1, 32, bytes + at.shift>>>(tile, map, at, (int)bytes);
    right = finished();
    for (size_t i = 0; i < count; i++)
        right = right && (float)tensor[i] == want[i];
    tap(right, "tma_store: %s, %d dimensions, %d bytes of swizzle", what, DIMS,
        t.swizzle);
    cudaFree(tensor), cudaFree(tile);
}

template <typename E> static void test_boxes(const char *type)
{
    for (int S : {0, 32, 64, 128}) {
        unsigned w = (S ? (unsigned)S : 96u) / sizeof(E);  // elements of a row of the box
        tma_tensor two = {2, {72, 20}, {1, 80}, {w, 16}, S};
        test_box<E, 2>((std::string(type) + ", inside").c_str(), two, {{0, 3}});
        test_box<E, 2>((std::string(type) + ", negative").c_str(), two, {{-8, -5}});
        test_box<E, 2>((std::string(type) + ", past the end").c_str(), two, {{56, 11}});
        test_box<E, 2>((std::string(type) + ", outside").c_str(), two, {{104, 2}});
        test_box<E, 2>((std::string(type) + ", shifted").c_str(), two, {{0, 3}, 384});
        tma_tensor three = {3, {72, 9, 5}, {1, 72, 72 * 10}, {w, 4, 3}, S};
        test_box<E, 3>((std::string(type) + ", corner").c_str(), three, {{8, 7, 3}});
        test_box<E, 3>((std::string(type) + ", negative").c_str(), three, {{-8, -1, -1}});
        // heads inside tokens: the stride of dimension 1 is the largest
        tma_tensor four = {4, {72, 7, 3, 2}, {1, 216, 72, 7 * 216}, {w, 4, 2, 2}, S};
        test_box<E, 4>((std::string(type) + ", strided").c_str(), four, {{8, 5, 2, 0}});
    }
}

/* A producer thread fills a ring of STAGES buffers, a warp adds them up. */
enum { STAGES = 2, CHUNK = 64 };
__global__ void ring(float *out, const float *in, int chunks)
{
    __shared__ __align__(128) float buffer[STAGES][CHUNK];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++)
            mbarrier_init(&full[s], 1), mbarrier_init(&empty[s], 32);
        mbarrier_fence_init();
    }
    __syncthreads();
    if (threadIdx.x == 32) {
        for (int i = 0; i < chunks; i++) {
            int s = i % STAGES, parity = i / STAGES & 1;
            mbarrier_wait(&empty[s], parity ^ 1);
            mbarrier_expect(&full[s], sizeof buffer[s]);
            tma_load_bytes(buffer[s], in + i * CHUNK, sizeof buffer[s], &full[s]);
        }
    } else if (threadIdx.x < 32) {
        float sum = 0.0f;
        for (int i = 0; i < chunks; i++) {
            int s = i % STAGES, parity = i / STAGES & 1;
            mbarrier_wait(&full[s], parity);
            sum += buffer[s][threadIdx.x] + buffer[s][threadIdx.x + 32];
            mbarrier_arrive(&empty[s]);
        }
        out[threadIdx.x] = sum;
    }
}
static bool ring_is_right(int chunks)
{
    float *in = managed<float>((size_t)chunks * CHUNK), *out = managed<float>(32);
    for (int i = 0; i < chunks * CHUNK; i++)
        in[i] = (float)(i % 37);
    ring<<<1, 64>>>(out, in, chunks);
    bool right = finished();
    for (int t = 0; t < 32; t++) {
        int sum = 0;
        for (int i = 0; i < chunks; i++)
            sum += (i * CHUNK + t) % 37 + (i * CHUNK + t + 32) % 37;
        right = right && out[t] == (float)sum;
    }
    cudaFree(in), cudaFree(out);
    return right;
}

/* Copies in bytes out, then stores two groups and reuses the first buffer. */
__global__ void store_bytes(float *out)
{
    __shared__ __align__(128) float buffer[2][32];
    for (int i = 0; i < 2; i++)
        buffer[i][threadIdx.x] = (float)(i * 32 + threadIdx.x);
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            tma_store_bytes(out + i * 32, buffer[i], sizeof buffer[i]), tma_commit();
        tma_wait_read<1>();
    }
    __syncthreads();
    buffer[0][threadIdx.x] = -(float)threadIdx.x;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        tma_store_bytes(out + 64, buffer[0], sizeof buffer[0]);
        tma_commit();
        tma_wait<0>();
    }
}
static bool stored_bytes_are_right(void)
{
    float *out = managed<float>(96);
    store_bytes<<<1, 32>>>(out);
    bool right = finished();
    for (int i = 0; i < 96; i++)
        right = right && out[i] == (float)(i < 64 ? i : 64 - i);
    cudaFree(out);
    return right;
}

int main(void)
{
    if (!can_run()) return 0;
    test_boxes<float>("float");
    test_boxes<wb_bf16>("bf16");
    test_boxes<wb_f16>("f16");
    for (int chunks : {1, 2, 3, 9})
        tap(ring_is_right(chunks), "mbarrier: a ring of 2 buffers, %d chunks", chunks);
    tap(stored_bytes_are_right(), "tma_store_bytes: two groups, a buffer used again");
    float *odd = managed<float>(64);
    tensor_map map;
    tap(!make_tensor_map(&map, odd, {2, {7, 4}, {1, 7}, {4, 4}, 0}),
        "make_tensor_map: false for rows of 28 bytes");
    tap(!make_tensor_map(&map, odd, {2, {64, 4}, {1, 64}, {64, 4}, 128}),
        "make_tensor_map: false for a box wider than the swizzle");
    tap(!make_tensor_map(&map, odd + 1, {2, {8, 4}, {1, 8}, {4, 4}, 0}),
        "make_tensor_map: false for a base that is not a multiple of 16 bytes");
    cudaFree(odd);
    return tap_done();
}
