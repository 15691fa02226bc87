"""Prints compile_commands.json for clangd.

A .cu is described as CUDA with the CPU back end's headers in place of the toolkit's: they
declare threadIdx, the intrinsics and the keywords, so clangd needs no toolkit, and it parses
<<<...>>> itself.
"""
import glob
import json
import os

ROOT = os.getcwd()
INCLUDES = ["-Icommon", "-Icommon/ops", "-Icommon/decoder", "-Irecurrentgemma", "-Icommon/cpu/include"]
INCLUDES += ["-I" + d for d in sorted(glob.glob("labs/lab*"))]
CUDA = ["clang++", "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=gnu++17",
        "-include", "wbcpu/editor.h", "-include", "cuda_runtime.h", "-Wno-unknown-cuda-version",
        "-Wno-gnu-inline-cpp-without-extern", "-Wno-cuda-compat", "-Xclang", "-fcuda-allow-variadic-functions"]
C = ["clang", "-std=gnu11", "-Wall", "-Wextra"]
CXX = ["clang++", "-std=gnu++17"]


def sources(pattern):
    return sorted(f for f in glob.glob(pattern, recursive=True)
                  if not f.startswith(("build/", ".venv/")))


def entry(file, command):
    return {"directory": ROOT, "file": file, "arguments": command + INCLUDES + ["-c", file]}


entries = [entry(f, CUDA) for f in sources("**/*.cu") + sources("**/*.cuh")]
entries += [entry(f, C) for f in sources("**/*.c")]
entries += [entry(f, CXX) for f in sources("common/**/*.cpp")]
print(json.dumps(entries, indent=1))
