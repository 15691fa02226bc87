#!/usr/bin/env bash
# tools/wbcc: nvcc's command lines on the CPU back end. tests/cpu/foreign has programs
# that test themselves, one per feature that CUDA programs use.
. "$(dirname "$0")/../tap.sh"
[ "$BACKEND" = cpu ] || { skip "wbcc" "it is for computers without a GPU"; tap_done; }
wbcc=$PWD/tools/wbcc foreign=$PWD/tests/cpu/foreign features=$PWD/tests/cpu/features
export WBCC_BUILD=$TMP/back-end
unset CXX CC
mkdir "$TMP/work" && cd "$TMP/work" || exit 1

# --- what it needs, and the first call --------------------------------------------------
cat >scale.cu <<'END'
#include <cstdio>
#include <cstdlib>
__global__ void scale(int n, float a, float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
int main(int argc, char **argv)
{
    float h[3] = {1, 2, 3}, *x;
    cudaMalloc(&x, sizeof h);
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    scale<<<1, 32>>>(3, 2, x);
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(x);
    printf("%g %g %g %s\n", h[0], h[1], h[2], argc > 2 ? argv[2] : "");
    return argc > 1 ? atoi(argv[1]) : 0;
}
END
mkdir "$TMP/bin"
for tool in g++ gcc ar as ld nm objcopy bash env cat basename dirname readlink find ln mkdir mktemp mv nproc rm \
    sed grep xargs realpath; do
    ln -s "$(command -v $tool)" "$TMP/bin/$tool"
done
check "the first call builds the back end, with nothing but gcc, binutils and the usual commands" \
    env -i PATH="$TMP/bin" HOME=/ WBCC_BUILD="$WBCC_BUILD" "$wbcc" scale.cu -o scale
check_says "the program runs" "2 4 6" ./scale
says_nothing() { [ -z "$("$@" 2>&1)" ]; }
check "the second call builds only the program" says_nothing "$wbcc" scale.cu -o scale

# A compiler that makes empty objects, and a copy of wbcc that changes
mkdir -p other/tools && ln -s "${wbcc%/tools/*}/common" other/common && cp "${wbcc%wbcc}"{wbcc,compile_blocks.sh} other/tools/
cat >empty-g++ <<'END'
#!/bin/bash
while [ $# -gt 0 ]; do [ "$1" != -o ] || out=$2; shift; done
case $out in
*.o) echo | gcc -x c -c - -o "$out"; echo "x: /dev/null" >"${out%o}d" ;;
*) echo 'int main(void) { return 0; }' | gcc -x c - -o "$out" ;;
esac
END
chmod +x empty-g++
by_copy() {
    env WBCC_BUILD="$PWD/other/build" CC="$PWD/empty-g++" CXX="$PWD/empty-g++" \
        other/tools/wbcc -c scale.cu -o empty.o
}
check_says "a copy of wbcc builds the back end" "builds the back end" by_copy
check "and not again" says_nothing by_copy
touch other/tools/wbcc
check_says "but when it has changed" "builds the back end" by_copy

# --- command lines of teaching code -----------------------------------------------------
check "options about GPU code have no effect" "$wbcc" -arch=sm_80 -arch sm_90 -gencode \
    arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=\"sm_90,compute_90\" -O3 -t=0 \
    --use_fast_math -lineinfo -Xptxas -v --ptxas-options=-v -rdc=true -std=c++17 \
    --expt-relaxed-constexpr --extended-lambda -m64 -maxrregcount 32 --default-stream \
    per-thread -lcublas -lcublasLt -lcudart -lm -Xcompiler -Wall,-Wextra scale.cu -o gpu
sed 's/int i = .*/int unused; &/' scale.cu >unused.cu
check "-Werror refuses no warning that nvcc's host compiler does not give" "$wbcc" -c \
    -Xcompiler -Wall,-Werror unused.cu
sed 's/^int main/typedef int number;\nstruct named { number number; };\n&/' scale.cu >named.cu
check "a member with the name of its type" "$wbcc" -c named.cu
sed 's/^struct named/int *p = 7L;\n&/' named.cu >named.cu.wrong
check_fails "but nothing else that needs -fpermissive" "invalid conversion" \
    "$wbcc" -c -x cu named.cu.wrong
variables() { # OPTION...: the names of parameters in the debug information
    "$wbcc" -c "$@" scale.cu -o debug.o && readelf --debug-dump=info debug.o | grep -c formal_parameter
}
check_fails "no variables in the debug information" 0 variables
check "but with -g" variables -g
check "and with -G" variables -G
check_says "a.out without -o" "2 4 6" sh -c "'$wbcc' scale.cu && ./a.out"
check_says "-run -run-args" "2 4 6 two words" "$wbcc" -run -run-args "0 'two words'" scale.cu
check "-run ends with the program's exit code" exits 7 "$wbcc" -run -run-args 7 scale.cu
cat >twice.cuh <<'END'
__device__ float twice(float x);
__global__ void twice_all(float *x);
#ifdef __CUDACC_RDC__
extern __constant__ float factor;
#else
#define factor FACTOR
#endif
END
cat >twice.cu <<'END'
#include "twice.cuh"
#ifdef __CUDACC_RDC__
__constant__ float factor = FACTOR;
#endif
__device__ float twice(float x) { return factor * x; }
END
cat >kernel.cu <<'END'
#include "twice.cuh"
__global__ void twice_all(float *x)
{
    x[threadIdx.x] = twice(x[threadIdx.x]) + factor - FACTOR;
}
END
cat >host.cpp <<'END'
#include <cuda_runtime.h>
#include <stdio.h>
void launch(float *x);
int main()
{
    float *x;
    cudaMallocManaged(&x, 4 * sizeof(float));
    for (int i = 0; i < 4; i++) x[i] = i;
    launch(x);
    printf("%g\n", x[3]);
    return cudaFree(x);
}
END
echo '#include "twice.cuh"
void launch(float *x) { twice_all<<<1, 4>>>(x); cudaDeviceSynchronize(); }' >launch.cu
check_says "several files: CUDA and C++" 6 sh -c \
    "'$wbcc' -DFACTOR=2 twice.cu kernel.cu launch.cu host.cpp -o several && ./several"
cat >Makefile <<'END'
several: twice.o kernel.o launch.o host.o
	$(NVCC) -arch=sm_80 -dlink $^ -o device.o
	$(NVCC) $^ device.o -o $@ -lcudart
%.o: %.cu
	$(NVCC) -arch=sm_80 -dc -D FACTOR=2 $< -o $@
%.o: %.cpp
	$(NVCC) -c $<
END
check_says "a Makefile, by NVCC=" 6 sh -c "rm -f several; make -s NVCC='$wbcc' && ./several"
cat >Makefile <<'END'
CC = nvcc
sum: sum.o kernel.o twice.o launch.o host.o
	$(CC) $^ -o $@ -lcudart
%.o: %.cu
	$(CC) -arch=sm_80 -dc -D FACTOR=2 $< -o $@
%.o: %.cpp
	$(CC) -c $<
%.o: %.c
	$(CC) -c $<
END
echo 'int sum(int a, int b) { return a + b; }' >sum.c
# make passes CC and CXX to wbcc in the environment, where they name host compilers.
check_says "a Makefile with a C file, CC and CXX set to wbcc" 6 sh -c \
    "rm -f *.o; timeout 100 make -s CC='$wbcc' CXX='$wbcc' && ./sum"
check_says "an archive" 6 sh -c \
    "'$wbcc' -lib twice.o kernel.o launch.o -o lib.a && '$wbcc' host.o lib.a -o by_lib && ./by_lib"
check_says "a shared library" 6 sh -c "'$wbcc' -shared -DFACTOR=2 twice.cu kernel.cu launch.cu \
    -o libtwice.so && g++ -I'${wbcc%/tools/*}/common/cpu/include' host.cpp -L. -ltwice -Wl,-rpath,. \
    -o by_so && ./by_so"
mkdir "a folder"
grep -v '#include' scale.cu | sed '/^int main/,$d' >"a folder/a kernel (1).cuh"
{ echo '#include <cstdio>
#include <cstdlib>
#include "a kernel (1).cuh"'; sed -n '/^int main/,$p' scale.cu; } >"a folder/01 scale.cu"
check_says "a folder and files with spaces" "2 4 6" sh -c \
    "'$wbcc' 'a folder/01 scale.cu' -o 'a folder/s' && 'a folder/s'"
printf '\xef\xbb\xbf' | cat - scale.cu >mark.cu
check_says "a file that begins with a byte-order mark" "2 4 6" "$wbcc" -run mark.cu
sed 's/<<<1, 32>>>/ << <1, 32 >> > /' scale.cu >apart.cu
check_says "chevrons that a formatter took apart" "2 4 6" "$wbcc" -run apart.cu
sed 's/scale<<<1, 32>>>(3, 2, x);/argc?scale<<<1, 32>>>(3, 2, x):scale<<<2, 32>>>(3, 2, x);/' \
    scale.cu >ternary.cu
check_says "launches in ? : without blanks" "2 4 6" "$wbcc" -run ternary.cu
check_says "a .cpp with -x cu" "2 4 6" sh -c "cp scale.cu scale.cpp; '$wbcc' -x cu -run scale.cpp"
rules() { # the header is newer than the object: make must find it, and compile again
    cat >Makefile <<'END'
by_rules: by_rules.o ; $(NVCC) $< -o $@
by_rules.o: ; $(NVCC) -forward-unknown-to-host-compiler -mavx $(RULES) -c by_rules.cu -o $@
-include by_rules.d
END
    rm -f by_rules* && cp "a folder/01 scale.cu" by_rules.cu &&
        sed -i 's,a kernel (1).cuh,a folder/kernel.cuh,' by_rules.cu &&
        cp "a folder/a kernel (1).cuh" "a folder/kernel.cuh" &&
        make -s NVCC="$wbcc" RULES="$*" && make -q NVCC="$wbcc" &&
        touch -d "+2 seconds" "a folder/kernel.cuh" && ! make -q NVCC="$wbcc"
}
check "-MD writes a rule for make that names the sources" rules -MD
check "-MMD -MF -MT" rules -MMD -MF by_rules.d -MT by_rules.o
check_fails "-o does not overwrite a source" "would overwrite an input file" "$wbcc" scale.cu -o ./scale.cu
check_says "-MM" "by_rules.o: by_rules.cu" "$wbcc" -MM by_rules.cu
check "-odir" sh -c "'$wbcc' -odir 'a folder' -c scale.cu && rm 'a folder/scale.o'"
printf '%s\n' "-DWORD='a b' -Xcompiler '\"-Wall\",\"-Wextra\"'" '-std c++17' -split-compile=0 >options
check_says "--options-file, words in quotes" "2 4 6" "$wbcc" --options-file options \
    -Xcompiler "-O1 -Wall" -run scale.cu
check_says "-E" "void scale(int n" "$wbcc" -E scale.cu
check_says "--dryrun shows the commands" "translate" "$wbcc" --dryrun scale.cu
check_says "--version reads like nvcc's" "release 13" "$wbcc" --version

cat >context.c <<'END'
#include <cuda.h>
int main(void)
{
    CUcontext old, new;
    CUctxCreateParams about = {0};
    CUdeviceptr p;
    if (cuCtxGetCurrent(&old) != CUDA_ERROR_NOT_INITIALIZED) return 1;
    if (cuInit(0) || cuCtxGetCurrent(&old) || old) return 2;
    if (cuMemAlloc(&p, 4) != CUDA_ERROR_INVALID_CONTEXT) return 3;
    if (cuCtxCreate(&old, 0, 0) || cuCtxCreate(&new, &about, 0, 0)) return 4;
    if (cuMemAlloc(&p, 4) || cuCtxDestroy(new) || cuCtxDestroy(old)) return 5;
    if (cuCtxSynchronize() != CUDA_ERROR_INVALID_CONTEXT) return 6;
    return cudaFree(NULL) || cuCtxSynchronize() || cuCtxGetCurrent(&new) || !new;
}
END
check "a C program of the driver API, with both forms of cuCtxCreate" "$wbcc" -run context.c -lcuda

cat >libraries.cu <<'END'
#include <cublasLt.h>
#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <stdio.h>
#include <thread>
template <class Create> void first(const char *what, Create create) // in a thread without a context
{
    std::thread([=] {
        CUresult before = cuCtxSynchronize();
        int failed = create();
        CUresult after = cuCtxSynchronize();
        printf("%s: %d %d %d\n", what, before, failed, after);
    }).join();
}
int main()
{
    first("cublas", [] { cublasHandle_t h; return (int)cublasCreate(&h); });
    first("cublasLt", [] { cublasLtHandle_t h; return (int)cublasLtCreate(&h); });
    first("cublasXt", [] { cublasXtHandle_t h; return (int)cublasXtCreate(&h); });
    first("cufft", [] { cufftHandle h; return (int)cufftPlan1d(&h, 8, CUFFT_C2C, 1); });
    first("curand", [] {
        curandGenerator_t h;
        return (int)curandCreateGenerator(&h, CURAND_RNG_PSEUDO_XORWOW);
    });
    first("cusolver", [] { cusolverDnHandle_t h; return (int)cusolverDnCreate(&h); });
    first("cusparse", [] { cusparseHandle_t h; return (int)cusparseCreate(&h); });
    return 0;
}
END
cat >contexts <<'END'
cublas: 3 0 0
cublasLt: 201 0 0
cublasXt: 201 0 0
cufft: 201 0 0
curand: 201 0 0
cusolver: 201 0 0
cusparse: 201 0 0
END
make_contexts() { "$wbcc" -run libraries.cu >made_contexts; diff contexts made_contexts; }
check "a library's first call makes a context" make_contexts

# --- no warnings of the back end's headers ----------------------------------------------
{
    (cd "${wbcc%/tools/*}/common/cpu/include" &&
        ls cu*.h mma.h nv*.h math_constants.h cooperative_groups.h cooperative_groups/* \
            cuda/[abp]* thrust/*.h cub/*.cuh | grep -v interop) | sed 's/.*/#include <&>/'
    grep -v '^#include' scale.cu
} >headers.cu
for standard in 17 20; do
    check "all headers with -Wall -Wextra as C++$standard" says_nothing "$wbcc" -c -O0 \
        -std=c++$standard -Xcompiler -Wall,-Wextra,-Wenum-compare headers.cu
done

# --- mistakes ---------------------------------------------------------------------------
sed 's/(i < n)/(i < m)/' scale.cu >wrong.cu
check_fails "an error at the learner's line" "wrong.cu:6:13: error:" \
    "$wbcc" wrong.cu
check_says "once, though the kernel is compiled twice" 1 \
    bash -c "'$wbcc' wrong.cu 2>&1 | grep -c error:"
cat >solver.cuh <<'END'
#include <cusolverSp.h>
#ifdef SEVERAL_DEVICES
#include <nccl.h>
extern ncclComm_t all;
#endif
END
{ echo '#include "solver.cuh"'; cat scale.cu; } >solver.cu
check_says "headers that the back end does not have, without a use" "2 4 6" "$wbcc" -run solver.cu
check_fails "a use inside #ifdef" "CPU back end: NCCL is not supported: there is one device" \
    "$wbcc" -DSEVERAL_DEVICES solver.cu
echo 'cusolverSpHandle_t handle;' >>solver.cu
check_fails "a use" "cusolverSp.h:1:2: error: #error \"CPU back end: only cusolverDn.h of cuSOLVER is supported" \
    "$wbcc" solver.cu
complains 1 "a missing file" "none.cu: no such file" "$wbcc" none.cu
complains 1 "an unknown option" "unknown option --fast" "$wbcc" --fast scale.cu
complains 1 "an option without its value" "-o needs a value" "$wbcc" scale.cu -o
complains 1 "one name for two objects" "one name for the objects of 2 files" \
    "$wbcc" -c scale.cu twice.cu -o both.o
complains 1 "no compiler" "no-such-g++: not found" "$wbcc" -ccbin no-such-g++ scale.cu
complains 1 "a folder that cannot be written" "cannot be written: set WBCC_BUILD" \
    env WBCC_BUILD=/proc/none "$wbcc" scale.cu
check_fails "a program without main" "main" "$wbcc" -DFACTOR=2 twice.cu
check "a failed build leaves no program" [ ! -e both.o ]

# --- modules ----------------------------------------------------------------------------
cat >kernels.cu <<'END'
__constant__ float factors[2];
extern "C" __global__ void stretch(float *x, char which, double plus)
{
    __shared__ float s[32];
    s[31 - threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = factors[which] * s[31 - threadIdx.x] + (float)plus;
}
__global__ void clear(float *x) { x[threadIdx.x] = 0; }
template <int n> __global__ void unused(float *x) { *x = n; }
END
cat >loader.cpp <<'END'
#include <cuda.h>
#include <fstream>
#include <sstream>
#include <stdio.h>
#include <string.h>
#define CHECK(call)                                                                      \
    if (CUresult error = call) return printf("line %d: error %d\n", __LINE__, error)
struct arguments {
    CUdeviceptr x;
    char which;
    double plus;
};
int main(int, char **argv)
{
    CUmodule module, copy;
    CUfunction stretch, clear;
    CUdeviceptr constants, x;
    size_t bytes;
    float h[32], factors[2] = {2, 3};
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    if (cuModuleLoad(&module, argv[1]) != CUDA_ERROR_INVALID_CONTEXT) return 5;
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoad(&module, argv[1]));
    CHECK(cuModuleGetFunction(&stretch, module, "stretch"));
    CHECK(cuModuleGetFunction(&clear, module, "_Z5clearPf"));
    if (cuModuleGetFunction(&clear, module, "none") != CUDA_ERROR_NOT_FOUND) return 1;
    int blocks, threads;
    CHECK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, stretch, 0, 0, 64));
    CHECK(cuFuncSetAttribute(stretch, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 16));
    if (threads != 64) return 4;
    CHECK(cuModuleGetGlobal(&constants, &bytes, module, "factors"));
    if (bytes != sizeof factors) return 2;
    CHECK(cuMemcpyHtoD(constants, factors, sizeof factors));
    for (int i = 0; i < 32; i++) h[i] = (float)i;
    CHECK(cuMemAlloc(&x, sizeof h));
    CHECK(cuMemcpyHtoD(x, h, sizeof h));
    arguments a = {x, 1, 0.5};
    void *pointers[] = {&a.x, &a.which, &a.plus};
    CHECK(cuLaunchKernel(stretch, 1, 1, 1, 32, 1, 1, 0, 0, pointers, 0));
    size_t size = sizeof a;
    void *extra[] = {
        CU_LAUNCH_PARAM_BUFFER_POINTER, &a, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
        CU_LAUNCH_PARAM_END};
    a.which = 0;
    CHECK(cuLaunchKernel(stretch, 1, 1, 1, 32, 1, 1, 0, 0, 0, extra));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(h, x, sizeof h));
    printf("%g ", h[10]); // 2 (3 10 + 0.5) + 0.5
    CHECK(cuLaunchKernel(clear, 1, 1, 1, 31, 1, 1, 0, 0, pointers, 0));
    CHECK(cuMemcpyDtoH(h, x, sizeof h));
    printf("%g %g ", h[30], h[31]); // 0, 2 (3 31 + 0.5) + 0.5

    std::ostringstream image;
    image << std::ifstream(argv[1], std::ios::binary).rdbuf();
    CHECK(cuModuleLoadData(&copy, image.str().c_str()));
    CHECK(cuModuleGetFunction(&clear, copy, "_Z5clearPf"));
    CHECK(cuLaunchKernel(clear, 1, 1, 1, 32, 1, 1, 0, 0, pointers, 0));
    CHECK(cuMemcpyDtoH(h, x, sizeof h));
    printf("%g\n", h[31]);
    if (cuModuleLoadData(&copy, ".version 8.0") != CUDA_ERROR_INVALID_IMAGE) return 3;
    CHECK(cuModuleUnload(copy));
    CHECK(cuModuleUnload(module));
    return cuModuleLoad(&module, "none.ptx") != CUDA_ERROR_FILE_NOT_FOUND;
}
END
check "-ptx, -cubin and -fatbin make modules" sh -c "'$wbcc' -arch=sm_80 -ptx kernels.cu && \
    '$wbcc' --fatbin kernels.cu -o k && '$wbcc' -cubin kernels.cu && [ -s k ] && [ -s kernels.cubin ]"
check "a program that loads modules" "$wbcc" loader.cpp -lcuda -o loader
check_says "a module from a file and from memory" "61.5 0 187.5 0" ./loader kernels.ptx
check_says "PTX is no module" "not a module made by wbcc -ptx" ./loader kernels.ptx
cat >compile.cu <<'END'
#include <cuda.h>
#include <nvrtc.h>
#include <stdio.h>
#include <vector>
const char *text = "#include \"more.h\"\n"
    "template <class T> __global__ void add(T *x) { x[threadIdx.x] += MORE; }\n"
    "extern \"C\" __global__ void wrong() { none(); }\n";
const char *header = "#define MORE 2\n", *name = "more.h";
int main()
{
    nvrtcProgram program;
    const char *options[] = {"--gpu-architecture=sm_80", "-Dnone()", "--fmad=false"}, *lowered;
    size_t bytes;
    CUmodule module;
    CUfunction add;
    nvrtcCreateProgram(&program, text, "add.cu", 1, &header, &name);
    nvrtcAddNameExpression(program, "add<double>");
    if (nvrtcCompileProgram(program, 0, 0) != NVRTC_ERROR_COMPILATION) return 1;
    nvrtcGetProgramLogSize(program, &bytes);
    std::vector<char> log(bytes);
    nvrtcGetProgramLog(program, log.data());
    printf("%s", log.data());
    if (nvrtcCompileProgram(program, 3, options)) return 2;
    nvrtcGetPTXSize(program, &bytes);
    std::vector<char> image(bytes);
    nvrtcGetPTX(program, image.data());
    if (nvrtcGetLoweredName(program, "add<double>", &lowered)) return 3;
    cudaFree(0); // makes a context
    if (cuModuleLoadDataEx(&module, image.data(), 0, 0, 0)) return 4;
    if (cuModuleGetFunction(&add, module, lowered)) return 5;
    nvrtcDestroyProgram(&program);
    double *x;
    cudaMallocManaged(&x, sizeof *x);
    *x = 0.5;
    void *arguments[] = {&x};
    if (cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0)) return 6;
    cudaDeviceSynchronize();
    printf("%g\n", *x);
    return 0;
}
END
check_says "NVRTC" 2.5 "$wbcc" -run compile.cu -lnvrtc -lcuda
check_says "NVRTC's log" "add.cu:3:" ./a.out

cat >limits.cu <<'END'
#include <algorithm>
#include <limits>
constexpr int twice(int x) { return 2 * x; }
__global__ void k(int *x) { *x = std::max(std::numeric_limits<signed char>::max(), (signed char)twice(4)); }
int main() { return 0; }
END
check_fails "constexpr host code in a kernel" "limits.cu:4:" "$wbcc" limits.cu
check "--expt-relaxed-constexpr" "$wbcc" --expt-relaxed-constexpr limits.cu

echo 'int cuModuleLoad(int x) { return x; } int main() { return cuModuleLoad(0); }' >own.c
check "a program with a cuModuleLoad of its own" "$wbcc" -run own.c
echo 'double half = 0.5, quarter = half * half;' >constants.h
cat >local.cu <<'END'
__global__ void k(double *x)
{
#include "constants.h"
    *x = quarter;
}
int main() { return 0; }
END
check "a header with local variables" "$wbcc" local.cu

# --- lanes in lockstep ------------------------------------------------------------------
cat >lockstep.cu <<'END'
#include <cstdio>
__global__ void sum(int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    if (t < 32) {
        volatile int *v = s;
        v[t] += v[t + 32];
        v[t] += v[t + 16];
        v[t] += v[t + 8];
        if (blockDim.x > 8) v[t] += v[t + 4];
        v[t] += v[t + 2];
        v[t] = v[t] + v[t + 1];
    }
    if (t == 0) *out = s[0];
}
int main()
{
    int *out;
    cudaMallocManaged(&out, sizeof *out);
    sum<<<1, 64>>>(out);
    cudaDeviceSynchronize();
    return printf("%d\n", *out) < 0;
}
END
check_says "statements that need lanes in lockstep" "lockstep.cu:10: warning: these statements need" \
    "$wbcc" lockstep.cu -o lockstep
check_says "lanes in lockstep" 2016 ./lockstep
check "WB_LOCKSTEP=0" eval '[ "$(WB_LOCKSTEP=0 ./lockstep)" != 2016 ]'
cat >scan.cu <<'END'
#include <cstdio>
__device__ int scan(volatile int *v, int x, int steps)
{
    int i = threadIdx.x + 32;
    v[threadIdx.x] = 0;
    v[i] = x;
#if (32 > 16)
    v[i] += v[i - 1];
    if (steps > 1) { v[i] += v[i - 2]; }
    if (steps > 2) v[i] = v[i - 4] + v[i];
    if (i >= 40) { v[i] += v[i - 8]; }
    v[i] = max(v[i] + v[i - 16], v[i]);
#endif
    return v[i];
}
__global__ void sums(int *out)
{
    __shared__ int s[64], swapped[32];
    const int t = threadIdx.x;
    swapped[t] = t;
    __syncwarp();
    swapped[t] += swapped[t ^ 1];
    __syncwarp();
    out[t] = scan(s, swapped[t] - (t ^ 1), 5);
}
int main()
{
    int *out, wrong = 0;
    cudaMallocManaged(&out, 32 * sizeof *out);
    sums<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    for (int i = 0; i < 32; i++)
        wrong += out[i] != i * (i + 1) / 2;
    return printf("%s\n", wrong ? "wrong" : "all sums are right") < 0;
}
END
check_says "a scan that needs lanes in lockstep" "scan.cu:8: warning: these statements need" \
    "$wbcc" scan.cu -o scan
check_says "lanes in lockstep read before they write" "all sums are right" ./scan

cat >rolled.cu <<'END'
#include <cstdio>
__global__ void sums(int *out)
{
    __shared__ volatile int s[64];
    __shared__ volatile int half[32];
    int t = threadIdx.x;
    s[t] = t;
    s[t + 32] = t + 32;
    half[t] = 3 * t;
    for (int d = 32; d > 0; d >>= 1)
        s[t] += s[t + d];
    for (int d = 16; d > 0; d >>= 1) {
        if (t < d) half[t] += half[t + d];
    }
    if (t == 0) out[0] = s[0], out[1] = half[0];
    for (int i = 1; t == 0 && i < 8; i++) // needs no other lane
        half[i] += half[i - 1];
}
int main()
{
    int *out;
    cudaMallocManaged(&out, 2 * sizeof *out);
    sums<<<1, 32>>>(out);
    cudaDeviceSynchronize();
    printf("%d %d\n", out[0], out[1]);
}
END
check "loops that need lanes in lockstep" eval '[ "$("$wbcc" rolled.cu -o rolled 2>&1 |
    grep -o "cu:[0-9]*: warning: this loop needs" | tr "\n" " ")" = \
    "cu:10: warning: this loop needs cu:12: warning: this loop needs " ]'
check_says "their sums" "2016 1488" ./rolled
check "WB_LOCKSTEP=0 for loops" eval '[ "$(WB_LOCKSTEP=0 ./rolled)" != "2016 1488" ]'

# --- a macro whose whole body is <<<...>>>: it hides them from editors ------------------
cat >chevrons.cu <<'END'
#include <cstdio>
#define ON(grid, block) <<<grid, block>>>
#define ON_STREAM(grid, block, shared, stream) <<< grid, block, shared, stream >>>
#define ONE <<<1, 1>>>
__global__ void set(int *x, int v) { x[blockIdx.x * blockDim.x + threadIdx.x] = v; }
template <class T> __global__ void add(T *x, T v)
{
    extern __shared__ T s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + v;
}
int main()
{
    int *x, n = 0;
    cudaMallocManaged(&x, 64 * sizeof *x);
    set ON(2, dim3(32))(x, 5);
    if (n == 0)
        add<int> ON_STREAM(1, 64, 64 * sizeof(int), 0)(x, 2);
    else
        set ONE(x, 1);
    set ONE(x, 1);
    cudaDeviceSynchronize();
    for (int i = 0; i < 64; i++)
        n += x[i];
    printf("sum %d\n", n);
    set ON(1, 5000)(x, 1);
}
END
check_says "a macro whose whole body is <<<...>>>" "sum 442" "$wbcc" -run chevrons.cu
check_says "an error of such a launch names the kernel and the line" "chevrons.cu:27: launch of set failed" ./a.out

# --- a class that cannot be copied but converts to a pointer ----------------------------
cat >owner.cu <<'END'
struct owner {
    int *p;
    owner() { cudaMallocManaged(&p, sizeof *p); }
    owner(const owner &) = delete;
    ~owner() { cudaFree(p); }
    operator int *() const { return p; }
};
struct flags {
    unsigned low : 3, high : 5;
};
__managed__ int numbers[4];
__global__ void set(int *p, unsigned x, int *more) { *p = x + *more; }
int main()
{
    owner x;
    flags f = {5, 9};
    set<<<1, 1>>>(x, f.high, numbers);
    cudaDeviceSynchronize();
    return *x != 9;
}
END
check "an argument whose class cannot be copied" "$wbcc" -run owner.cu

# --- shared memory with an alignment ----------------------------------------------------
cat >attributes.cu <<'END'
#include <cstdint>
#include <cstdio>
alignas(64) extern __shared__ char everything[];
template <class T> __device__ int rest(const T &x, int n) { return (int)((uintptr_t)&x % n); }
__global__ void offsets(int *out)
{
    __shared__ alignas(64) char a[64];
    alignas(128) __shared__ char b[64];
    __shared__ __align__(32) char c[64];
    __shared__ alignas(double4_32a) char d[3];
    [[maybe_unused]] __shared__ int e;
    __align__(64) __shared__ char f[3];
    alignas(32) static __shared__ char g[3], h alignas(64)[4], i[3] __attribute__((aligned(64)));
    __shared__ struct alignas(32) record {
        char c[3];
    } j;
    alignas(16) extern __shared__ char k[];
    extern __align__(16) __shared__ char l[];
    alignas(16) __shared__ extern char m[];
    __shared__ __align__(16) extern char n[];
    k[0] = 3, l[0]++, m[0]++, n[0]++;
    *out = rest(a, 64) + rest(b, 128) + rest(c, 32) + rest(d, 32) + rest(f, 64) + rest(g, 32) +
           rest(h, 64) + rest(i, 64) + rest(j, 32) + (sizeof j != 32) + rest(everything[0], 64) +
           10 * k[0];
}
int main()
{
    int *out;
    cudaMallocManaged(&out, sizeof *out);
    offsets<<<1, 1, 64>>>(out);
    cudaDeviceSynchronize();
    return *out != 60;
}
END
check "alignas, __align__ and [[ ]] before and after __shared__" "$wbcc" -run attributes.cu

# --- shared memory aligned to more than a page ------------------------------------------
cat >aligned.cu <<'END'
#include <cstdint>
#include <cstdio>
__global__ void offset(int *out)
{
    __shared__ __align__(16384) char s[24576];
    s[threadIdx.x] = (char)threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) *out = s[5] + (int)((uintptr_t)s % 16384);
}
int main()
{
    int *out;
    cudaMallocManaged(&out, sizeof *out);
    offset<<<2, 32>>>(out);
    cudaDeviceSynchronize();
    return *out != 5;
}
END
check "shared memory aligned to 16 KB" "$wbcc" -run aligned.cu

# --- shifts by 32 -----------------------------------------------------------------------
cat >shift.cu <<'END'
#include <cstdio>
__global__ void shift(unsigned *x) { unsigned n = x[1]; x[0] = x[0]<<n; }
int main()
{
    unsigned *x;
    cudaMallocManaged(&x, 2 * sizeof *x);
    x[0] = 1, x[1] = 32;
    shift<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    return printf("1 << 32 gives %u\n", x[0]) < 0;
}
END
check_says "a shift by 32" "1 << 32 gives 0" "$wbcc" -run shift.cu
check_says "-fsanitize=shift names a shift by 32" "shift.cu:2:" \
    "$wbcc" -fsanitize=shift -run shift.cu

# --- a mistake in a launch --------------------------------------------------------------
sed 's/scale<<<1, 32>>>(3, 2, x)/scale<<<1, 32>>>(3, 2)/' scale.cu >missing.cu
one_line() { # g++ finds the mistake in a lambda that launch.h calls
    ! "$wbcc" -c missing.cu 2>said || return
    cat said
    grep -q "missing.cu:$(grep -n '<<<' missing.cu | cut -d: -f1):.*error: too few arguments" said &&
        [ "$(grep -c error: said)" = 1 ] && ! grep -q launch.h said
}
check "a missing argument of a launch: one error, at its line" one_line
sed 's/scale<<<1, 32>>>/scale<<<1>>>/' scale.cu >one.cu
check_fails "a launch without a block" "one.cu:13: error: kernel launch: '<<<' needs a grid and a block" \
    "$wbcc" -c one.cu
sed '1i #define HOW 1' scale.cu | sed 's/scale<<<1, 32>>>/scale<<<HOW>>>/' >one.cu
check_fails "in a macro" "one.cu:14:" "$wbcc" -c one.cu
sed -i 's/HOW 1/HOW 1, 32/' one.cu
check_says "a grid and a block in a macro" "2 4 6" "$wbcc" -run one.cu

# --- features that programs use ---------------------------------------------------------
# One source of all programs, each in a namespace: the headers are read once.
{
    cat "$foreign"/*.cu "$features"/*.cu | grep '^#include <' | sort -u
    for program in "$foreign"/*.cu "$features"/*.cu; do
        printf 'namespace test_%s {\n#include "%s"\n}\n' "$(basename "$program" .cu)" "$program"
    done
    echo 'int main(int, char **argv) {'
    for program in "$foreign"/*.cu "$features"/*.cu; do
        name=$(basename "$program" .cu)
        echo "if (!strcmp(argv[1], \"$name\")) return test_$name::main();"
    done
    echo 'return 99; }'
} >all.cu
check "the programs of tests/cpu/foreign and features compile" "$wbcc" -O0 all.cu -o all
for program in "$foreign"/*.cu; do
    name=$(basename "$program" .cu)
    shows=$(sed -n '1s,^/\* *\([^.]*\).*,\1,p' "$program")
    check "$name: $shows" ./all "$name"
    check "docs/wbcc.md lists it" grep -qF "| \`$name.cu\` | $shows |" "${wbcc%/tools/*}/docs/wbcc.md"
done
echo "# the table in docs/wbcc.md: tests/cpu/features.sh"
for program in "$features"/*.cu; do
    check "$(basename "$program")" ./all "$(basename "$program" .cu)"
done
tap_done
