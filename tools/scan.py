"""scan.py - checks a learner's object before any of it runs: which outside names it uses,
which it defines, and what would run before main. A launcher only enqueues work on its stream
(wb.h); every other name is a breach of the contract, and is reported.

This is the first line of defence, and a friendly one. The sandbox is the one that holds."""
import os
import re
from pathlib import Path

import labkit

# Outside names, without leading underscores and without the suffixes of glibc's variants.
FORBIDDEN = [
    ("launchers do not allocate",
     r"cudaMalloc\w*|cudaFree\w*|cudaHost\w+|cudaMemPool\w*|cudaMemAlloc\w*|cublasCreate\w*"
     r"|cublasDestroy\w*"),
    ("launchers do not copy: kernels read and write device memory",
     r"cudaMemcpy\w*|cudaMemPrefetch\w*|cublas[SG]et(Vector|Matrix)\w*"),
    ("launchers fill memory on their stream only: cudaMemsetAsync",
     r"cudaMemset(2D|3D)?"),
    ("launchers do not synchronise", r"cuda\w*(Synchronize|Query)|cudaLaunchHostFunc"
     r"|cudaStreamAddCallback|cudaStreamWait\w*"),
    ("work goes to the stream that was passed",
     r"cudaStream(Create|Destroy|BeginCapture|EndCapture)\w*|cudaEvent\w*"
     r"|cudaThreadExchangeStreamCaptureMode|cublasSetStream\w*"),
    ("graphs are the caller's", r"cudaGraph\w*|cudaUserObject\w*"),
    ("the device is the caller's", r"cuda(SetDevice|DeviceReset|DeviceSet|IpcOpen|IpcGet|"
     r"DeviceEnablePeer|Import|External|Profiler)\w*"),
    ("the driver is out of bounds: use the runtime", r"cu[A-Z]\w*|nvrtc\w*"),
    ("kernels do the work, not host threads",
     r"pthread_create|thrd_create|GOMP_\w+|omp_\w+|kmpc_\w+|ZNSt6thread\w*|ZSt5async\w*"),
    ("launchers start no process", r"v?fork|posix_spawn\w*|clone\d*|exec[lv]\w*|fexecve"
     r"|system|popen|wordexp|forkpty|daemon|setsid"),
    ("launchers load no code", r"dl(m?open|v?sym|addr1?|info|_iterate_phdr)"),
    ("launchers open no file",
     r"(f|fd|fre)?open(at\d*|dir|_by_handle_at)?|fdopendir|creat|tmpfile|mkstemp\w*"
     r"|memfd_create|shm_open|readlink\w*|realpath|scandir|glob|nftw|ftw"
     r"|ZN?S\w*basic_(filebuf|[io]?fstream)\w*|ZNSt10filesystem\w*"),
    ("launchers use no descriptor",
     r"p?readv?\d*|p?writev?\d*|recv\w*|send\w*|splice|tee|close\w*|dup\d?|fcntl|ioctl"
     r"|pipe\d?|poll|ppoll|select|epoll_\w+|lseek|f?truncate|unlink\w*|rename\w*|link\w*"
     r"|symlink\w*|mkdir\w*|rmdir|remove|chmod|f?chown"),
    ("launchers use no network", r"socket|socketpair|connect|bind|listen|accept4?"),
    ("launchers touch no other process",
     r"ptrace|process_vm_\w+|t?g?kill|killpg|raise|sigqueue|pidfd_\w+|getppid|prctl"
     r"|set(r|pr)limit|prlimit|setpriority"),
    ("launchers change no mapping", r"mmap|mremap|munmap|mprotect|pkey_\w+|madvise|s?brk"
     r"|shmat|shmget|remap_file_pages|userfaultfd"),
    ("launchers handle no signal",
     r"sig(action|nal|altstack|procmask|set|longjmp|wait\w*)|bsd_signal|sysv_signal"
     r"|pthread_(sigmask|kill)|signalfd|timer_create|setitimer|alarm"),
    ("launchers make no system call of their own", r"syscall|io_uring\w*"),
    ("launchers do not end the program",
     r"(quick_|pthread_)?exit|Exit|on_exit|at_quick_exit|atexit|longjmp\w*"),
    ("launchers read no environment", r"(secure_)?getenv|environ|putenv|setenv|clearenv"),
]
FORBIDDEN = [(why, re.compile(rf"(?:{names})\Z")) for why, names in FORBIDDEN]

# The CUDA runtime has an allow-list: what enqueues, queries or sets up a launch.
CUDA_ALLOWED = re.compile(
    r"cuda(LaunchKernel\w*|LaunchCooperativeKernel|PeekAtLastError|GetLastError"
    r"|GetErrorName|GetErrorString|GetDevice|GetDeviceProperties\w*|DeviceGetAttribute"
    r"|Func(Set|Get)Attributes?|FuncSetCacheConfig|FuncSetSharedMemConfig|FuncGetName"
    r"|Occupancy\w+|Memset(2D|3D)?Async|GetSymbol(Address|Size)|StreamIsCapturing"
    r"|StreamGetCaptureInfo\w*|StreamGet(Flags|Priority|Id|Device)"
    r"|Stream[SG]etAttribute|StreamCopyAttributes|CtxResetPersistingL2Cache"
    r"|PointerGetAttributes|RuntimeGetVersion|DriverGetVersion|GetDeviceCount"
    r"|DeviceGet(Limit|CacheConfig)|GetFuncBySymbol)(_ptsz|_v\d+)*\Z")

# What nvcc's own start-up code also needs (registration of kernels).
NVCC_OWN = {"atexit", "cudaInitModule"}
CONSTRUCTORS_ALLOWED = re.compile(
    r"_ZL\d+__sti____cudaRegisterAllv|__sti____cudaRegisterAll\w*|_ZL\d+__nv_\w+"
    r"|_?GLOBAL__sub_I_\w*wbcpu\w*|frame_dummy|\.text\.startup\.wbcpu\w*")

SYSTEM_CALL = re.compile(r"\t(syscall|sysenter|int\s+\$0x80|svc\s+0x?0)\b")


def plain(name):
    """fork for __libc_fork, open for __open64_2: variants of one function."""
    name = name.partition("@")[0].lstrip("_")
    name = re.sub(r"^(libc_|IO_|isoc\d+_|GI_)", "", name)
    return re.sub(r"(64|_chk|_2|_nocancel|_ptsz|_ptds)+\Z", "", name)


def why_forbidden(name, backend):
    """The reason, or None if a launcher may use this name."""
    if name.startswith("__cuda"):  # nvcc's own: registration, the <<<...>>> configuration
        return None
    bare = plain(name)
    if backend == "cuda" and bare in NVCC_OWN:
        return None
    if re.match(r"cuda[A-Z]", bare) and CUDA_ALLOWED.match(name.lstrip("_")):
        return None
    for why, names in FORBIDDEN:
        if names.match(bare):
            return why
    if re.match(r"cuda[A-Z]", bare):
        return "launchers do not need it"
    return None


def back_end_names():
    """Internal names of the CPU back end that its headers make kernels use. wbcpu.h, which
    opens and closes device memory to host code, is for the grader only."""
    names = set()
    for header in Path("common/cpu/include").rglob("*.h"):
        if header.name != "wbcpu.h":
            names.update(re.findall(r"\bwbcpu_\w+", header.read_text(errors="replace")))
    return names


def constructors(objects):
    """[(section, function)] of what would run before or after main."""
    found = []
    for path in objects:
        section, starts = "", None
        for line in labkit.run(labkit.OBJDUMP, "-r", path).splitlines():
            if line.startswith("RELOCATION RECORDS FOR"):
                section = line.split("[")[1].rstrip("]:")
                continue
            if not re.match(r"\.(preinit_array|init_array|fini_array|ctors|dtors)", section):
                continue
            fields = line.split()
            if len(fields) < 3 or fields[0] == "OFFSET":
                continue
            target = fields[2]
            if target.startswith("."):  # a section and an offset: which function is it?
                starts = starts or function_starts(path)
                where, _, offset = target.partition("+")
                target = starts.get((where, int(offset or "0", 16)), target)
            found.append((section, re.sub(r"[-+]0x[0-9a-f]+\Z", "", target)))
    return found


def function_starts(path):
    """{(section, offset): name} of the functions of one object."""
    starts = {}
    for line in labkit.run(labkit.OBJDUMP, "-t", path).splitlines():
        fields = line.split()
        if len(fields) >= 5 and re.match(r"[0-9a-f]+\Z", fields[0]) and " F " in line:
            starts[fields[-3], int(fields[0], 16)] = fields[-1]
    return starts


ASSEMBLED = re.compile(r"\.\s*incbin\b")


def foreign_sources(source, files):
    """[(what, why)] of files that a lab's source must not include: with the solution
    included, the solution would be graded."""
    found = []
    for path in files:
        kept = re.match(r"(solutions|reference|grader|build|tests)/", os.path.relpath(path))
        if kept and not os.path.relpath(source).startswith(kept[0]):
            found.append((path, f"a lab may not include anything from {kept[0]}"))
        elif ASSEMBLED.search(Path(path).read_text(errors="replace")):
            found.append((".incbin", f"{path} embeds a file"))
    return found


def breaches(objects, harness, allowed, backend):
    """[{"symbol": ..., "why": ...}] of the learner's objects. `harness`: the objects that
    they are linked with; `allowed`: names of those that they may use."""
    found = {}
    table = labkit.symbols(*objects)
    defined = {n for t, n in table if t not in "UwvN"}
    asked = {n for t, n in table if t in "Uwv"} - defined
    private = (labkit.exported(*harness) if harness else set()) - set(allowed)
    inside = back_end_names()
    for name in sorted(asked):
        why = why_forbidden(name, backend)
        if name in private:
            why = "it belongs to the grader"
        if "wbcpu" in name and name not in inside:
            why = "it is internal to the back end"
        if why:
            found[name] = why
    for name in sorted(labkit.exported(*objects)):
        if name == "main" or name in private:
            found[name] = "a lab defines no main and no name of the grader's"
    for kind, name in table:
        if kind == "i":
            found[name] = "it is chosen by code that runs before main (ifunc)"
    streams = any("ios_base4Init" in name for name in asked)
    for section, name in constructors(objects):
        if CONSTRUCTORS_ALLOWED.match(name) or (streams and "GLOBAL__sub_I" in name):
            continue
        found[name] = f"it runs outside of main ({section})"
    for path in objects:
        code = labkit.run(labkit.OBJDUMP, "-d", "--no-show-raw-insn", path)
        call = SYSTEM_CALL.search(code)
        if call:
            found[call[1]] = "launchers make no system call of their own"
    readable = labkit.run("c++filt", "-p", *found).splitlines() if found else []
    return [{"symbol": s, "why": w} for s, w in zip(readable, found.values())]
