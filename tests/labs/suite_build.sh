#!/usr/bin/env bash
# make labNN: what it builds, when it builds again, what it says, and the scan of the
# learner's object before any of it runs.
. "$(dirname "$0")/../tap.sh"
reuse_build "$TMP/build"
lab() { make lab03 BACKEND="$BACKEND" BUILD="$TMP/build" "$@"; }
record=$TMP/build/labs/lab03.json
recorded() { grep -qE -- "$1" "$record"; }

# source FILE: a small lab03 from lines of C; stdin goes before its one function, the
# other arguments into it.
source_of() {
    source_path=$1; shift
    { echo '#include "rmsnorm.h"'; cat
      echo 'wb_status rmsnorm_forward_f32(float *out, float *rstd, const float *x,'
      echo '    const float *w, int R, int C, float eps, float offset, cudaStream_t stream)'
      echo '{'
      printf '    %s\n' "$@"
      echo '    return WB_TODO;'; echo '}'; } >"$source_path"
}

# --- what is built
mine=$TMP/mine.cu
source_of "$mine" </dev/null
check_says "a file in the lab's place" "built from $mine" lab FILE="$mine"
cp "$TMP/.out" "$TMP/said"
check "it is not the learner's own" recorded '"own": false'
begins_compiled() { # every source begins with a header that is compiled once
    "$PYTHON" - "$1" "$TMP" <<'END' | grep -q '^! .*/begins/.*/cuda_runtime.h.gch'
import subprocess, sys
sys.path.insert(0, "tools")
from compiling import Settings
made, work = Settings(sys.argv[1]), sys.argv[2]
subprocess.run([*made.compile, *made.includes, "-H", "-include", *made.begins, "-x", "c++",
                "-S", "/dev/null", "-o", f"{work}/begins.s"], stderr=sys.stdout)
END
}
if grep -q "^begins: ." "$TMP/build/labs/settings"; then # g++
    check "g++ takes the compiled header" begins_compiled "$TMP/build"
    check "and check mode's" begins_compiled "$PWD/build/check"
    begun_as_text() { # as when another make has just replaced the compiled header
        cp "$TMP/build/labs/settings" "$TMP/settings"
        header=$(sed -n 's/^begins: //p' "$TMP/settings") folder=build/host/begins/text.$$
        mkdir -p "$folder" && cp "$header" "$folder" || return
        sed -i "s,^begins: .*,begins: $folder/cuda_runtime.h," "$TMP/build/labs/settings"
        FILE=$mine "$PYTHON" tools/lab.py lab03 --build "$TMP/build" --from labs --no-check
        recorded '"breaches": \[\]'
        rc=$?
        rm -r "$folder" && mv "$TMP/settings" "$TMP/build/labs/settings" &&
            lab FILE="$mine" && return $rc
    }
    check "without it the header is read as text: no breach" begun_as_text
fi
check "the device layer is part of what was built" \
    recorded '"common/cuda/vec\.cuh": "[0-9a-f]{64}"'
check "functions that it lacks are listed" recorded '"rmsnorm_backward_workspace_bf16"'
check "and said" grep -q "not in this file: rmsnorm_residual_forward_f32" "$TMP/said"
stamp() { stat -c %Y%s "$TMP/build/labs/lab03"; stat -c %y "$TMP/build/labs/lab03"; }
unchanged() { before=$(stamp); lab "$@" && [ "$before" = "$(stamp)" ]; }
rebuilt() { before=$(stamp); lab "$@" && [ "$before" != "$(stamp)" ]; }
check "nothing is built when nothing is new" unchanged FILE="$mine"
other=$TMP/other.cu
source_of "$other" 'if (R < 0) return WB_BAD_SHAPE;' </dev/null
check "another FILE is noticed" rebuilt FILE="$other"
rm "$other"
check "a FILE that has gone leaves nothing behind" rebuilt FILE="$mine"
echo '// a thought' >>"$mine"
check "an edit is noticed" rebuilt FILE="$mine"
cp -p "$mine" "$TMP/older" && source_of "$mine" 'if (C < 0) return WB_BAD_SHAPE;' </dev/null
check "another edit too" rebuilt FILE="$mine"
check "and an older file that is put back" eval 'cp -p "$TMP/older" "$mine" && rebuilt FILE="$mine"'
mkdir "$TMP/folder"
echo 'static const float shift = 2; static __global__ void one(float *x) { x[0] = shift; }' >"$TMP/folder/one.cuh"
source_of "$TMP/folder/a.cu" 'one<<<1, 32, 0, stream>>>(out);' 'more(out, stream);' <<'E2'
#include "one.cuh"
void more(float *x, cudaStream_t stream);
E2
printf '#include <cuda_runtime.h>\n#include "one.cuh"\nvoid more(float *x, cudaStream_t s) { one<<<1, 32, 0, s>>>(x + 1); }\n' >"$TMP/folder/b.cu"
check_says "a folder of sources that call each other" "built from $TMP/folder" lab FILE="$TMP/folder"
check "a header of the learner's is recorded" recorded '/folder/one\.cuh": "[0-9a-f]{64}"'
cp -p "$TMP/folder/one.cuh" "$TMP/older" && sed -i 's/shift = 2/shift = 3/' "$TMP/folder/one.cuh"
check "an edited header is noticed" rebuilt FILE="$TMP/folder"
check "and an older header that is put back" \
    eval 'cp -p "$TMP/older" "$TMP/folder/one.cuh" && rebuilt FILE="$TMP/folder"'
check_says "the lab by its long name" "built from $mine" \
    make lab03_rmsnorm BACKEND="$BACKEND" BUILD="$TMP/build" FILE="$mine"
check_says "the learner's own place" "built from labs/lab03_rmsnorm" lab
check "is the learner's own" recorded '"own": true'
kept=$TMP/build/labs/lab03.kept
check "what its own sources compile to is kept" test "$(ls "$kept" | wc -l)" = "$(ls labs/lab03_rmsnorm/*.cu | wc -l)"
before=$(stat -c %y "$kept"/*/said)
rm "$TMP/build/labs/lab03"
check_says "and is used again" "built from labs/lab03_rmsnorm" lab
check "without compiling" [ "$before" = "$(stat -c %y "$kept"/*/said)" ]
check_says "a FILE keeps nothing" "built from $mine" lab FILE="$mine"
check "nor uses what is kept" [ "$before" = "$(stat -c %y "$kept"/*/said)" ]
if [ -d solutions ]; then
    check_says "FROM=solutions" "built from solutions/lab03_rmsnorm" lab FROM=solutions
fi

# --- what it says
check_fails "no such file" "FILE=$TMP/none.cu: no such file or folder" lab FILE="$TMP/none.cu"
mkdir "$TMP/empty"
check_fails "a folder without a source" "neither a .cu file nor a folder with one" lab FILE="$TMP/empty"
check_fails "also with a space in its name" "FILE=$TMP/my lab.cu: no such file or folder" lab FILE="$TMP/my lab.cu"
cp "$other" "$TMP/my lab.cu" 2>/dev/null || cp "$mine" "$TMP/my lab.cu"
check_says "a path with a space" "built from $TMP/my lab.cu" lab FILE="$TMP/my lab.cu"
mkdir -p "$TMP/held/labs/lab03" "$TMP/held/labs/lab03.lock" # as where all is read-only
complains 1 "a build folder that cannot be written" "lab03: Is a directory: $TMP/held" \
    "$PYTHON" tools/lab.py lab03 --build "$TMP/build" --out "$TMP/held"
check_fails "no such lab" "lab99: no such lab; there are lab00" make lab99 BACKEND="$BACKEND"
broken=$TMP/broken.cu
source_of "$broken" 'int rows = R' </dev/null
check_fails "an error is shown at the learner's line" "broken.cu:6" lab FILE="$broken"
cp "$TMP/.out" "$TMP/said"
check "and one line closes" grep -qF "lab03: $broken does not compile: fix the first error above" "$TMP/said"
source_of "$broken" 'helper(out);' <<<'void helper(float *x);'
check_fails "a name that is defined nowhere" "uses a name that is not defined anywhere" lab FILE="$broken"
printf '#include "rmsnorm.h"\nwb_status rmsnorm_forward_f32(float *out) { return WB_OK; }\n' >"$broken"
check_fails "other arguments than the header's" "rmsnorm_forward_f32 in $broken is not the function of the header" lab FILE="$broken"
echo 'int unrelated;' >"$broken"
check_fails "nothing of the lab in it" "defines no function of labs/lab03_rmsnorm" lab FILE="$broken"

# --- names that a launcher must not use
# Without check mode, whose own program is scanned too: suite_submission.sh builds both.
breach() { # breach NAME LINE...: the object asks for NAME; stdin: lines before the function
    breach_name=$1; shift
    source_of "$TMP/breach.cu" "$@"
    check_says "breach: $breach_name" "contract breach: $breach_name" \
        lab CHECK=off FILE="$TMP/breach.cu"
}
api() { breach "$@" </dev/null; }
api cudaMalloc 'void *p; cudaMalloc(&p, 4);'
api cudaFree 'cudaFree(out);'
api cudaMemcpy 'cudaMemcpy(out, x, 4, cudaMemcpyDeviceToDevice);'
api cudaDeviceSynchronize 'cudaDeviceSynchronize();'
api cudaStreamSynchronize 'cudaStreamSynchronize(stream);'
api cudaStreamCreate 'cudaStream_t s; cudaStreamCreate(&s);'
api cudaEventCreate 'cudaEvent_t e; cudaEventCreate(&e);'
breach wbcpu_open_array '' <<<'extern "C" void wbcpu_open_array(wbcpu_array *) {}'
breach fork 'fork();' <<<'#include <unistd.h>'
breach execl 'execl("/bin/sh", "sh", (char *)0);' <<<'#include <unistd.h>'
breach system 'if (system("true")) return WB_OK;' <<<'#include <stdlib.h>'
breach open 'open("/etc/passwd", O_RDONLY);' <<<'#include <fcntl.h>'
breach fopen 'fopen("/etc/passwd", "r");' <<<'#include <stdio.h>'
breach write 'if (write(3, out, 4)) return WB_OK;' <<<'#include <unistd.h>'
breach kill 'kill(getppid(), 9);' <<<'#include <unistd.h>
#include <signal.h>'
breach ptrace 'ptrace(PTRACE_TRACEME, 0, 0, 0);' <<<'#include <sys/ptrace.h>'
breach mprotect 'mprotect(out, 4096, 3);' <<<'#include <sys/mman.h>'
breach exit 'exit(0);' <<<'#include <stdlib.h>'
breach _exit '_exit(0);' <<<'#include <unistd.h>'
breach getenv 'if (getenv("EXPECTED")) return WB_OK;' <<<'#include <stdlib.h>'
breach dlsym 'dlsym(0, "fork");' <<<'#include <dlfcn.h>'
breach syscall 'syscall(57);' <<<'#include <unistd.h>'
breach pthread_create 'pthread_t t; pthread_create(&t, 0, 0, 0);' <<<'#include <pthread.h>'
breach "std::basic_filebuf" 'std::ifstream f("/etc/passwd");' <<<'#include <fstream>'
breach main 'return WB_OK;' <<<'int main(void) { return 0; }'
check "breaches are in the record" recorded '"symbol": "main"'
breach early 'return WB_OK;' <<<'static volatile int seen; __attribute__((constructor)) static void early(void) { seen = 1; }'
breach late 'return WB_OK;' <<<'static volatile int seen; __attribute__((destructor)) static void late(void) { seen = 1; }'
breach _GLOBAL__sub_I 'return WB_OK;' <<<'static volatile int one = 1; int now = one + 1;'
breach sooner 'sooner();' <<<'static void other() {}
typedef void function();
extern "C" { static function *pick() { return other; } }
void sooner() __attribute__((ifunc("pick")));'
# The harness finds the adapter's functions by this name; no learner's object may use it.
breach adapters 'if (adapters[0]) return WB_OK;' <<<'extern "C" { extern int adapters[]; }'
if [ "$BACKEND" = cpu ]; then
    breach wbcpu_guard 'wbcpu_guard(0);' <<<'extern "C" void wbcpu_guard(int);'
    breach 'wbcpu::open_guarded_memory' 'wbcpu::open_guarded_memory();' \
        <<<'namespace wbcpu { void open_guarded_memory(); }'
fi

# --- names that it may use
fine() { # fine "what" LINE...
    fine_what=$1; shift
    source_of "$TMP/fine.cu" "$@"
    check "no breach: $fine_what" eval 'lab FILE="$TMP/fine.cu" && recorded "\"breaches\": \[\]"'
}
fine "kernels, shared memory, attributes, memset on the stream, printf" \
    'cudaFuncSetAttribute(k<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);' \
    'cudaMemsetAsync(out, 0, 4, stream);' \
    'k<float><<<R, 256, 1024, stream>>>(out, C);' \
    'int d, sms; cudaGetDevice(&d);' \
    'cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d);' \
    'return wb_launched();' <<'E2'
#include <assert.h>
#include <stdio.h>
__constant__ float table[4];
__device__ float counter;
template <typename E> __global__ void k(E *out, int C)
{
    extern __shared__ float dynamic[];
    __shared__ E fixed[32];
    fixed[threadIdx.x % 32] = dynamic[threadIdx.x] = table[threadIdx.x % 4];
    __syncthreads();
    float v = __shfl_xor_sync(0xffffffffu, (float)fixed[threadIdx.x % 32], 1);
    atomicAdd(&counter, v);
    if (threadIdx.x == 0) printf("%f\n", v);
    assert(C > 0);
    out[threadIdx.x] = v;
}
E2
fine "half precision and streams for debugging" 'std::cerr << R;' \
    'h<<<1, 32, 0, stream>>>(out);' <<'E2'
#include <iostream>
__global__ void h(float *out) { wb_bf16 b = (wb_bf16)out[0]; wb_f16 s = (wb_f16)out[1]; out[2] = (float)b + (float)s; }
E2
tap_done
