"""scan.py - checks what a learner's sources were compiled to, before any of it runs: the
assembly, and for each object its sections, the outside names that it uses and the names
that it defines. A launcher only enqueues work on its stream (wb.h); everything else is a
breach of the contract, and is reported.

This is the first line of defence, and a friendly one: machine code can do more than its
names tell. The sandbox is the one that holds."""
import re
from pathlib import Path

import elf

# Outside names, without leading underscores and without the suffixes of glibc's variants.
FORBIDDEN = [
    ("launchers do not allocate",
     r"cudaMalloc\w*|cudaFree\w*|cudaHost\w+|cudaMemPool\w*|cudaMemAlloc\w*|cublasCreate\w*"
     r"|cublasDestroy\w*"),
    ("launchers copy on their stream only: cudaMemcpyAsync within device memory",
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
     r"|ZN?S\w*(basic_(filebuf|[io]?fstream)|basic_file)\w*|ZNSt10filesystem\w*"),
    ("launchers use no descriptor",
     r"p?readv?\d*|p?writev?\d*|recv\w*|send\w*|splice|tee|close\w*|dup\d?|fcntl|ioctl"
     r"|pipe\d?|poll|ppoll|select|epoll_\w+|lseek|f?truncate|unlink\w*|rename\w*|link\w*"
     r"|symlink\w*|mkdir\w*|rmdir|remove|chmod|f?chown|v?dprintf|aio_\w+|vmsplice"
     r"|copy_file_range"),
    ("launchers use no network", r"socket|socketpair|connect|bind|listen|accept4?"),
    ("launchers touch no other process",
     r"ptrace|process_vm_\w+|t?g?kill|killpg|raise|sigqueue|pidfd_\w+|getppid|prctl"
     r"|set(r|pr)limit|prlimit|setpriority"),
    ("launchers change no mapping", r"mmap|mremap|munmap|mprotect|pkey_\w+|madvise|s?brk"
     r"|shmat|shmget|remap_file_pages|userfaultfd"),
    ("launchers handle no signal",
     r"sig(action|nal|altstack|procmask|set|longjmp|wait\w*)|bsd_signal|sysv_signal"
     r"|pthread_(sigmask|kill)|signalfd|timer_create|setitimer|alarm"),
    ("launchers do not wait: they enqueue work and return", r"u?sleep|nanosleep|clock_nanosleep"
     r"|pause|sched_yield"),
    ("launchers make no system call of their own", r"syscall|io_uring\w*"),
    ("launchers do not end the program",
     r"(quick_|pthread_)?exit|Exit|on_exit|at_quick_exit|atexit|longjmp\w*"),
    ("launchers read no environment", r"(secure_)?getenv|environ|putenv|setenv|clearenv"),
]
FORBIDDEN = [(why, re.compile(rf"(?:{names})\Z")) for why, names in FORBIDDEN]


# Everything else that a launcher may call, without leading underscores: mathematics,
# memory, text for debugging, and what compilers call on their own.
ALLOWED = re.compile(r"""(?:
    (a?(sin|cos|tan)h?|(exp|log)(2|10|1p|m1|b)?|pow|sqrt|cbrt|hypot|fabs|fma|fmin|fmax|fmod|fdim
      |floor|ceil|trunc|rint|nearbyint|round(even)?|l{0,2}r(int|ound)|ldexp|frexp|modf
      |scalbl?n|ilogb|copysign|nan|next(after|toward|up|down)|remainder|remquo|erfc?
      |[tl]?gamma(_r)?|j[01n]|y[01n]|sincos|fpclassify|signbit|isnan|isinf|finite
      |exp10)([fl]|f16|f32|f64|f128)?(_finite)?
    |mem(cpy|p?cpy|set|move|cmp|r?chr|mem)|rawmemchr|stpn?cpy|bcmp|bzero
    |str(len|nlen|n?cmp|n?casecmp|n?cpy|n?cat|r?chr|chrnul|str|spn|cspn|pbrk|tok(_r)?|n?dup|error
      |to(l|ul|ll|ull|f|d|ld|imax|umax))
    |v?(s|sn|f|as)?printf|f?puts|f?putc|putchar|fwrite|fflush|stdout|stderr|perror|s?sscanf
    |malloc|calloc|realloc|free|aligned_alloc|posix_memalign|abs|labs|llabs|l?div|abort
    |qsort|bsearch|s?rand(om)?(_r)?|drand48|ato[fil]|is(al(num|pha)|digit|space|xdigit|upper|lower
      |print|punct)|to(upper|lower)|ctype_(b|tolower|toupper)_loc|errno_location
    |time|clock|clock_gettime|gettimeofday
    |pthread_(mutex_(try|un)?lock|mutex_(init|destroy)|once)|once_proxy
    |assert(_fail|_perror_fail)?|stack_chk_(fail|guard)|Unwind_\w+|gxx_personality_\w+
    |cxa_\w+|dso_handle|dynamic_cast|tls_get_addr|GLOBAL_OFFSET_TABLE_|aeabi_\w+
    |u?(add|sub|mul|div|mod|neg|cmp|eq|ne|lt|le|gt|ge|unord|float|fix|extend|trunc|pow|ashl|ashr
      |lshr|ffs|clz|ctz|popcount|parity|bswap|divmod|fixuns|floatun|floatuns)[sdthx][a-z]*[2-4]?
    |popcountdi2|(aarch64_)?(atomic|sync|ldadd|ldclr|ldeor|ldset|swp|cas)_?\w*
    |cpu_(model|indicator_init)
    |([atu]b?san|asan|ubsan|tsan|sanitizer)_\w+
    |DW.ref.__gxx_personality_v0
    )\Z""", re.VERBOSE)
# C++: std:: (what is forbidden of it is above), operator new and delete, type
# information.
ALLOWED_CPP = re.compile(r"_Z(T[ISVT])?(NK?[VKRO]*)?S[tabsiod]|_Zn[wa]|_Zd[la]"
                         r"|_ZT[ISV](S|N10__cxxabiv1|[a-z]|P)"
                         r"|_Z(TV|TI)N10__cxxabiv1|_ZN10__cxxabiv1|_ZN9__gnu_cxx\d+__verbose")

# The CUDA runtime has an allow-list: what enqueues, queries or sets up a launch.
CUDA_ALLOWED = re.compile(
    r"cuda(LaunchKernel\w*|LaunchCooperativeKernel|PeekAtLastError|GetLastError"
    r"|GetErrorName|GetErrorString|GetDevice|GetDeviceProperties\w*|DeviceGetAttribute"
    r"|Func(Set|Get)Attributes?|FuncSetCacheConfig|FuncSetSharedMemConfig|FuncGetName"
    r"|Occupancy\w+|Memset(2D|3D)?Async|GetSymbol(Address|Size)|StreamIsCapturing"
    r"|Memcpy(2D)?Async|MemcpyToSymbolAsync"
    r"|StreamGetCaptureInfo\w*|StreamGet(Flags|Priority|Id|Device)"
    r"|Stream[SG]etAttribute|StreamCopyAttributes|CtxResetPersistingL2Cache"
    r"|PointerGetAttributes|RuntimeGetVersion|DriverGetVersion|GetDeviceCount"
    r"|DeviceGet(Limit|CacheConfig)|GetFuncBySymbol"
    r"|GetDriverEntryPoint(ByVersion)?)(_ptsz|_v\d+)*\Z")  # make_tensor_map


# What a lab's functions may use, too, if arguments of some are in host memory (host_x).
HOST_CODE = {f"cuda{name}" for name in ("Malloc", "Free", "Memcpy", "Memset",
                                        "DeviceSynchronize", "StreamSynchronize")}


# The CPU back end's checks: a function of the learner's must not take the place of one,
# not even a local one, which the calls of its own file would reach.
CHECKS = re.compile(r"_*(wbcpu|[ut]b?san|sanitizer)_")
# What these copy, check mode does not see. It has its own memcpy, memmove and memset.
COPIES = re.compile(r"_*(memp?cpy_chk|mem(pcpy|ccpy|move_chk|set_chk)|bcopy|bzero"
                    r"|st[pr]n?cpy|qsort(_r)?|v?sscanf)(_chk)?\Z")

# What the code of nvcc that registers kernels needs, and what runs before main for it.
NVCC_OWN = {"atexit", "cudaInitModule"}
NVCC_START = "_ZL24__sti____cudaRegisterAllv"
# On the CPU back end no constructor runs: labkit.isolate renames their sections.
CHECK_START = (".init_array.00099", "_sub_I_00099_0")  # of -fsanitize=thread: check mode
STREAMS = "_ZNSt8ios_base4InitC1Ev"  # <iostream> initialises std::cout before main

SECTION = re.compile(r"\.(text|data|bss|tdata|tbss|rodata|gcc_except_table)(\..*)?\Z"
                     r"|\.(init_array|fini_array|preinit_array|ctors|dtors)(\..*)?\Z"
                     r"|\.eh_frame\Z|\.note\.gnu\.property\Z"
                     r"|\.(nv_fatbin|nvFatBinSegment)\Z|__nv_\w+\Z|wbcpu_listed\Z")
# Sections that are never loaded. Others would still affect the linker: it would compile
# .gnu.lto_* in place of the code that was checked, and would turn .stub into code.
NOT_LOADED = re.compile(r"\.z?debug_\w+\Z|\.(comment|symtab|strtab|shstrtab|group)\Z"
                        r"|\.note\.GNU-stack\Z|\.rela?\.|\.llvm[._][\w.-]+\Z|\Z")


LONGEST = 100  # of suffixes


def plain(name):
    """fork for __libc_fork, open for __open64_2: variants of one function."""
    name = name.partition("@")[0].lstrip("_")
    name = re.sub(r"^(libc_|IO_|isoc\d+_|GI_)", "", name)
    head, tail = name[:-LONGEST], name[-LONGEST:]  # the search takes quadratic time
    return head + re.sub(r"(64|_chk|_2|_nocancel|_ptsz|_ptds)+\Z", "", tail)


def why_forbidden(name, backend):
    """The reason, or None if a launcher may use this name."""
    if name.startswith("__cuda") and backend == "cuda":
        return None  # registration, the <<<...>>> configuration
    bare = plain(name)
    if backend == "cuda" and bare in NVCC_OWN:
        return None
    if re.match(r"cuda[A-Z]", bare) and CUDA_ALLOWED.match(name.lstrip("_")):
        return None
    for why, names in FORBIDDEN:
        if names.match(bare):
            return why
    if ALLOWED.match(bare) or ALLOWED_CPP.match(name):
        return None
    return "launchers do not need it"


def back_end_names():
    """Internal names of the CPU back end that its headers make kernels use. wbcpu.h, which
    opens and closes device memory to host code, is for the grader only."""
    names = {"threadIdx", "blockIdx", "blockDim", "gridDim"}
    for header in Path("common/cpu/include").rglob("*.h"):
        if header.name != "wbcpu.h":
            names.update(re.findall(r"\bwbcpu_\w+", header.read_text(errors="replace")))
    return names


def names_of(objects, grader, allowed, backend):
    """{name: why} for each name that the objects must not use or define."""
    found = {}
    defined = set().union(*(o.exported() for o in objects))
    asked = set().union(*(o.undefined() for o in objects)) - defined
    private = grader - set(allowed)
    inside = back_end_names() if backend == "cpu" else set()
    for name in sorted(asked - set(allowed)):
        if name in private:
            found[name] = "it belongs to the grader"
        elif name not in inside:
            why = why_forbidden(name, backend)
            if why:
                found[name] = "it is internal to the back end" if "wbcpu" in name else why
    own = set().union(*(o.defined() for o in objects)) if backend == "cpu" else defined
    for name in sorted(own):
        if name in defined and (name == "main" or name in private) or CHECKS.match(name):
            found[name] = "the grader defines this name: rename yours"
    return found


def only_streams(o, function):
    """Does it initialise std::cout and nothing else? That needs one variable."""
    touched = o.touches(function) - {
        STREAMS, STREAMS.replace("C1", "D1"), "__cxa_atexit", "__dso_handle",
        "_GLOBAL_OFFSET_TABLE_"}
    return len(touched) <= 1


def starts_of(o, backend):
    """{function: why} of what would run before or after main."""
    found = {}
    streams = STREAMS in o.undefined()
    seen = 0
    for section, function in o.pointers:
        seen += section == ".init_array"
        made_by_compiler = str(function).startswith("_GLOBAL__sub_")
        known = (streams and made_by_compiler and only_streams(o, function)
                 or backend == "cuda" and function == NVCC_START and seen == 1)
        if known and section == ".init_array":
            continue
        if backend == "cpu" and (section, function) == CHECK_START:
            continue
        found[function or section] = f"it runs outside of main ({section})" + (
            ": is there a global variable with a constructor, or whose value is computed? "
            "Make it static in the function that uses it" if made_by_compiler else "")
    return found


def parts_of(o):
    """{section or symbol: why} of what no compiler makes from a kernel and its
    launcher."""
    found = {}
    for s in o.sections:
        if not s.flags & elf.ALLOCATED:
            if not NOT_LOADED.match(s.name) or s.flags & elf.EXECUTABLE:
                found[s.name] = "launchers put nothing into sections of their own"
            continue
        code = s.flags & elf.EXECUTABLE
        if not SECTION.match(s.name) or code and not s.name.startswith(".text"):
            found[s.name] = "launchers put nothing into sections of their own"
        elif code and s.flags & elf.WRITABLE:
            found[s.name] = "a section of code must not be writable"
    for s in o.symbols:
        if s.kind == elf.IFUNC:
            found[s.name] = "it is chosen by code that runs before main (ifunc)"
        elif s.section == elf.ABSOLUTE and s.kind != elf.FILE:
            found[s.name] = "a name with an address of its own"
    return found


def breaches(objects, grader, allowed, backend, checked=False):
    """[(symbol, why)] for the learner's objects. grader: names that the harness and the
    adapter define; allowed: those that the learner's objects may use; checked: they are
    compiled for check mode."""
    found = names_of(objects, grader, allowed, backend)
    for o in objects:
        if checked:
            found.update({name: "check mode cannot see what it reads and writes: use "
                                "assignments or memcpy"
                          for name in o.undefined() if COPIES.match(name)})
        found.update(starts_of(o, backend))
        found.update(parts_of(o))
    return list(found.items())


# --- assembly ---------------------------------------------------------------------------

QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*(?:"|\\?$)', re.MULTILINE)
SWITCH = re.compile(r"^[ \t]+\.(text|data|bss|section)\b(.*)$", re.MULTILINE)
ASM = re.compile(r"^[ \t]*(?:#|//)APP$", re.MULTILINE)  # clang++ on AArch64: //APP
FATBIN = re.compile(r'^#APP\n\s*\.section \.nv_fatbin, "a"\n\.align 8\nfatbinData:\n'
                    r"(?:\.quad [0-9a-fx, ]+\n)+\s*\.text\s*^#NO_APP$", re.MULTILINE)
# <iostream> since g++ 13
IOSTREAM = re.compile(r"^#APP\n\s*\.globl _ZSt21ios_base_library_initv\n#NO_APP$", re.MULTILINE)
# Directives that compilers write among instructions, and elsewhere.
AMONG_CODE = r"loc|cfi_\w+|p2align|align|balign|type|size|globl?|global|weak|hidden" \
             r"|internal|protected|local|file|ident|set|comm|arch|tune|cpu|variant_pcs|addrsig\w*|lcomm"
ANYWHERE = AMONG_CODE + r"|byte|2byte|4byte|8byte|value|short|hword|long|word|int|xword|quad|octa" \
           r"|uleb128|sleb128|string|ascii|asciz|zero|skip|space|float|double"
STRANGE = {
    code: re.compile(rf"^[ \t]*(?!\.L)\.(?!(?:{names})\b)[^\s:]+(?=[\s:]|\Z)(?!.*:).*$",
                     re.MULTILINE)
    for code, names in ((True, AMONG_CODE), (False, ANYWHERE))}
COMMENTED = re.compile(r"^[ \t]*\.section[^#\n]*(?:#|//)", re.MULTILINE)
SYSTEM_CALL = re.compile(r"^[ \t]+(syscall|sysenter|int\s+\$(?:0x80|128)|svc)\b", re.MULTILINE)


def without_text(quoted):
    """Only whether there is an x, of a section's flags. No compiler leaves a string
    open."""
    text = quoted[0]
    return ";" if text == '"' or text[-1] != '"' else '"x"' if "x" in text else '""'


def is_code(section):
    """Does a section line such as `.section .text.f,"ax",@progbits` open code?"""
    name, _, rest = section.partition(",")
    return name.strip().startswith(".text") or "x" in rest.partition(",")[0]


def assembly(text):
    """[(what, why)] of the compiler's assembly: parts that come from an asm statement, or from
    text in a name or attribute that only looks like a name. The compiler puts asm
    statements between #APP and #NO_APP, however they were spelled; nvcc has one of its
    own, and so has <iostream>."""
    text = IOSTREAM.sub("", FATBIN.sub("\t.text", text, count=1))
    if ASM.search(text):
        return [("asm", "launchers contain no assembly for the CPU")]
    sections = QUOTED.sub(without_text, text)
    if ";" in sections or "/*" in sections or COMMENTED.search(sections):
        return [("asm", "a name or an attribute contains assembly")]
    start, code = 0, True
    for switch in [*SWITCH.finditer(sections), None]:
        part = sections[start:switch.start() if switch else None]
        strange = STRANGE[code].search(part) or SYSTEM_CALL.search(part)
        if strange:
            return [(strange[0].split()[0],
                     "no compiler writes this: is it in a name or an attribute?")]
        if switch:
            start = switch.end()
            code = switch[1] == "text" or switch[1] == "section" and is_code(switch[2])
    return []


# Instructions of the CPU that access memory, which check mode does not see, and the back
# end's own functions.
INTERNAL = re.compile(r"wbcpu\w*|__builtin_(?:ia32|aarch64)_\w+", re.IGNORECASE)
INTRINSICS = re.compile(r'^[ \t]*\.file .*"(?:[^"\n]*/)?(\w*intrin\.h|arm_\w+\.h)"',
                        re.MULTILINE)


def not_cuda(texts, assemblies):
    """[(what, why)] of the sources and of what they are compiled to: what only CPUs
    have."""
    internal = {name for text in texts for name in INTERNAL.findall(text)}
    headers = {name for text in assemblies for name in INTRINSICS.findall(text)}
    return [*((name, "it is internal to the back end or the compiler")
              for name in sorted(internal)),
            *((name, "kernels do not use the CPU's instructions") for name in sorted(headers))]


def foreign_sources(files):
    """[(what, why)] of files that a lab's source must not include: with the solution included,
    the solution would be graded."""
    found = []
    for path in files:
        kept = re.match(r"(solutions|reference|grader|build|tests"
                        r"|common/(?:ops|decoder|griffin))/", path)
        if kept:
            found.append((path, f"a lab may not include anything from {kept[0]}"))
    return found
