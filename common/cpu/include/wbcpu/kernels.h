/* kernels.h - launches without <<<>>>: cudaLaunchKernel, cudaLaunchCooperativeKernel,
 * cudaLaunchKernelEx and nodes of graphs. They get a kernel's address and an array of
 * pointers to its arguments. kernel_address notes the types that belong to an address. */
#ifndef WBCPU_KERNELS_H
#define WBCPU_KERNELS_H

#include "launch.h"

#include <tuple>

struct wbcpu_kernel_call {
    const char *file;
    int line;
    dim3 grid, block;
    void **arguments;
    size_t shared_bytes;
    cudaStream_t stream;
    bool cooperative;
    dim3 cluster;
};
typedef void (*wbcpu_kernel_launcher)(void (*kernel)(), const wbcpu_kernel_call *call);
struct wbcpu_parameter {
    size_t bytes, alignment;
};

extern "C" {
/* parameters: a list that ends with {0, 0} */
void wbcpu_know_kernel(
    const void *address, wbcpu_kernel_launcher launcher,
    const wbcpu_parameter *parameters);
/* NULL: the kernel is not known */
const wbcpu_parameter *wbcpu_parameters_of(const void *address);
/* cudaErrorInvalidDeviceFunction: kernel_address has not seen it */
cudaError_t wbcpu_launch_known(const void *address, const wbcpu_kernel_call *call);
}

namespace wbcpu
{
template <class... P, size_t... I>
void launch_with(
    void (*kernel)(P...), const wbcpu_kernel_call &c, std::index_sequence<I...>)
{
    launch(
        c.file, c.line, "started by its address",
        config(c.grid, c.block, c.shared_bytes, c.stream), [=](auto &...a) {
            kernel(a...);
        })(*static_cast<std::decay_t<P> *>(c.arguments[I])...);
}
template <class... P> void launch_typed(void (*kernel)(), const wbcpu_kernel_call *c)
{
    launch_with(
        reinterpret_cast<void (*)(P...)>(kernel), *c, std::index_sequence_for<P...>());
}
template <class... P>
inline constexpr wbcpu_parameter parameters_of[] = {
    {sizeof(std::decay_t<P>), alignof(std::decay_t<P>)}..., {0, 0}};
template <class... P> const void *kernel_address(void (*kernel)(P...))
{
    const void *address = reinterpret_cast<const void *>(kernel);
    wbcpu_know_kernel(address, launch_typed<P...>, parameters_of<P...>);
    return address;
}
static inline const void *kernel_address(const void *address)
{
    return address;
}

/* kernel % chevrons{file, line, how}(arguments) launches the kernel. The translator
 * writes this for a macro whose whole body is <<<grid, block>>>. */
template <class Run> struct arguments_of_kernel {
    Run run;
};
struct chevrons {
    const char *file;
    int line;
    config how;
    template <class... Args> auto operator()(Args... args) const
    {
        auto run = [f = file, l = line, h = how, args...](auto kernel) {
            wbcpu_next_launch_is(reinterpret_cast<const void *>(kernel), 1, false);
            launch(f, l, "in a macro", h, [=](auto &...a) { kernel(a...); })(args...);
        };
        return arguments_of_kernel<decltype(run)>{run};
    }
};
template <class... P, class Run>
void operator%(void (*kernel)(P...), const arguments_of_kernel<Run> &arguments)
{
    arguments.run(kernel);
}
}  // namespace wbcpu

/* The translator writes it after each kernel of a module (wbcpu/modules.h). */
#define WBCPU_MODULE_KERNEL(kernel)                                                      \
    static const void *const wbcpu_module_##kernel __attribute__((used)) =               \
        ::wbcpu::kernel_address(kernel);

/* Blocks of every launch can wait for one another (grid.cpp), in check mode only those of
 * a cooperative one. file, line: of the call */
template <class K>
static inline cudaError_t cudaLaunchKernel(
    K kernel, dim3 grid, dim3 block, void **arguments, size_t bytes = 0,
    cudaStream_t stream = 0, const char *file = __builtin_FILE(),
    int line = __builtin_LINE())
{
    wbcpu_kernel_call c = {file, line, grid, block, arguments, bytes, stream, false, {}};
    return wbcpu_launch_known(wbcpu::kernel_address(kernel), &c);
}
template <class K>
static inline cudaError_t cudaLaunchCooperativeKernel(
    K kernel, dim3 grid, dim3 block, void **arguments, size_t bytes = 0,
    cudaStream_t stream = 0, const char *file = __builtin_FILE(),
    int line = __builtin_LINE())
{
    wbcpu_kernel_call c = {file, line, grid, block, arguments, bytes, stream, true, {}};
    return wbcpu_launch_known(wbcpu::kernel_address(kernel), &c);
}

struct cudaLaunchAttribute_st {
    int id;
    union {
        int cooperative, programmaticStreamSerializationAllowed, priority;
        int clusterSchedulingPolicyPreference;
        struct {
            unsigned x, y, z;
        } clusterDim;
    } val;
};
typedef cudaLaunchAttribute_st cudaLaunchAttribute;
enum {
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
struct wbcpu_launch_config { /* and where the call is that passes it */
    const cudaLaunchConfig_t *config;
    const char *file;
    int line;
    wbcpu_launch_config(
        const cudaLaunchConfig_t *c, const char *f = __builtin_FILE(),
        int l = __builtin_LINE())
        : config(c), file(f), line(l)
    {
    }
};
/* arguments[i] points to argument i of the kernel. */
template <class K>
static inline cudaError_t
cudaLaunchKernelExC(wbcpu_launch_config call, K kernel, void **arguments)
{
    const cudaLaunchConfig_t *c = call.config;
    wbcpu_kernel_call k = {call.file, call.line, c->gridDim,          c->blockDim,
                           arguments, c->dynamicSmemBytes, c->stream, false, {}};
    for (unsigned i = 0; i < c->numAttrs; i++) {
        const auto &value = c->attrs[i].val;
        if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
            k.cluster = dim3(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
        else if (c->attrs[i].id == cudaLaunchAttributeCooperative)
            k.cooperative = value.cooperative;
    }
    return wbcpu_launch_known(wbcpu::kernel_address(kernel), &k);
}
template <class... P, class... A>
static inline cudaError_t
cudaLaunchKernelEx(wbcpu_launch_config call, void (*kernel)(P...), A... arguments)
{
    std::tuple<std::decay_t<P>...> converted(arguments...);
    return std::apply(
        [&](auto &...a) {
            void *pointers[] = {(void *)&a..., nullptr};
            return cudaLaunchKernelExC(call, kernel, pointers);
        },
        converted);
}
/* 8 blocks, which every GPU with clusters can run. One cluster runs at a time. */
template <class K>
static inline cudaError_t
cudaOccupancyMaxPotentialClusterSize(int *blocks, K, const cudaLaunchConfig_t *)
{
    *blocks = 8;
    return cudaSuccess;
}
template <class K>
static inline cudaError_t
cudaOccupancyMaxActiveClusters(int *clusters, K, const cudaLaunchConfig_t *)
{
    *clusters = 1;
    return cudaSuccess;
}

#endif
