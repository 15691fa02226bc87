# toolchain.mk - which back end, which compilers, and how sources become objects, the
# library and programs.
ifeq ($(origin NVCC),undefined)
NVCC      := $(or $(shell command -v nvcc),$(wildcard $(CURDIR)/.cuda/packages/nvidia/*/bin/nvcc))
endif
CUDA_HOME ?= $(if $(NVCC),$(abspath $(dir $(realpath $(shell command -v $(NVCC))))..))

# Without BACKEND=: cuda where nvcc compiles for the GPU that answers, otherwise cpu.
# Not asked when the CUDA targets are given.
ifeq ($(filter cpu,$(BACKEND))$(ARCH)$(ARCHS),)
DETECTED := $(shell tools/backend.sh "$(BACKEND)" "$(NVCC)")
BACKEND  ?= $(firstword $(DETECTED))
ifeq ($(firstword $(DETECTED)),error:)
$(if $(filter-out help help-all clean doctor setup,$(or $(MAKECMDGOALS),help)), \
    $(error $(wordlist 2,99,$(DETECTED))))
endif
endif
BACKEND ?= cuda
ifeq ($(filter $(BACKEND),cpu cuda),)
$(error BACKEND=$(BACKEND) is not known: use BACKEND=cpu or BACKEND=cuda)
endif
export BACKEND
# CHECK=1: check mode, which finds races and counts memory accesses (docs/check.md).
ifeq ($(CHECK),1)
ifneq ($(BACKEND),cpu)
$(error CHECK=1 needs BACKEND=cpu)
endif
BUILD ?= build/check
endif
BUILD ?= build/$(BACKEND)
B     := $(BUILD)
Q     := $(if $(V),,@)

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
OPT      ?= -O2
SANITIZE ?=
ifneq ($(SANITIZE),)
CHECK    ?= off
endif
CFLAGS   := -std=gnu11 $(OPT) -g -Wall -Wextra $(SANITIZE)
DEPS      = -MMD -MP -MF $(@:.o=.d) -MT $@

# A lab sees common/ and the contracts. Everything else may include more;
# tests/build/suite_includes.sh checks who includes what.
INCLUDES := -Icommon $(addprefix -I,$(wildcard labs/lab*))
$(foreach folder,common tinylm recurrentgemma bench tests,$(eval \
    $(B)/objects/$(folder)/%.o: private INCLUDES += -Icommon/ops -Icommon/decoder -Irecurrentgemma))

# Every architecture since Turing, and those that nvcc knows.
ALL_ARCHS   := 75 80 86 89 90 100 120
known_archs  = $(or $(filter $(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code 2>&1)),$(1)),$(1))

# --- CPU back end: translate <<<>>> and __shared__, then the host's own compiler --------
# common/cpu/flags are tools/wbcc's too.
# -fno-gnu-unique: labs with equal template names must stay separate (see mk/labs.mk).
# gdb shows variables with OPT=-O0.
CPU_TARGET ?= native
ifeq ($(CPU_TARGET),portable)
override CPU_TARGET := $(if $(filter x86_64,$(shell uname -m)),x86-64-v3,armv8-a)
endif
TRANSLATE := build/host/translate
TRANSLATE_FLAGS := $(if $(filter 1,$(CHECK)),--check)
CPU_FLAGS := $(shell grep -v '^\#' common/cpu/flags) $(OPT) $(if $(filter -O0,$(OPT)),-g) -march=$(CPU_TARGET) \
             $(SANITIZE) -Icommon/cpu/include \
             $(if $(findstring clang,$(CXX)),,-fno-gnu-unique)
ifeq ($(BACKEND),cpu)
BACKEND_INCLUDES := -Icommon/cpu/include
BACKEND_LIBS     := $(B)/libwbcpu.a
LDLIBS            = $(if $(filter 1,$(CHECK)),-lbacktrace) -lstdc++ -lpthread -ldl -lm
# The compiler calls common/cpu/check before each load and store; libtsan is not linked.
# -fno-tree-sra: a float4 stays one access. Only g++ leaves it whole.
CHECK_FLAGS := $(if $(filter 1,$(CHECK)),-Og -g1 -DWBCPU_CHECKED -fsanitize=thread -fno-tree-sra \
    -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -Wno-tsan \
    -fsanitize-coverage=trace-pc -fno-reorder-blocks \
    --param=tsan-instrument-func-entry-exit=0 --param=tsan-distinguish-volatile=1 \
    -fno-omit-frame-pointer \
    -fsanitize=bounds -fsanitize=alignment \
    -fno-sanitize-recover=bounds -fno-sanitize-recover=alignment)
# Copies that the compiler or the C++ library makes are calls of check mode, too, and so
# are malloc and free, new and delete.
CHECK_COPIES := $(if $(filter 1,$(CHECK)),objcopy \
    $(foreach f,memcpy memmove memset malloc free _Znwm _Znam _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm,\
        --redefine-sym=$(f)=wbcpu_checked_$(f)))
define compile_cu  # $(call compile_cu,source,object)
@mkdir -p $(dir $(2))
$(Q)$(TRANSLATE) $(TRANSLATE_FLAGS) $(1) $(dir $(2)) $(INCLUDES) -d $(2) && \
    tools/compile_blocks.sh $(dir $(2))$(notdir $(1)).cpp \
    $(CXX) $(CPU_FLAGS) $(CHECK_FLAGS) $(INCLUDES) -iquote $(dir $(1)) -include cuda_runtime.h \
    -MMD -MP -MF $(2:.o=.d) -MT $(2) -x c++ -c $(dir $(2))$(notdir $(1)).cpp -o $(2) \
    $(if $(CHECK_COPIES),&& $(CHECK_COPIES) $(2))
endef
# The grader's builds have red zones around __shared__ arrays (wbcpu/shared.h) and end at a
# misaligned access, as a GPU does (common/cpu/alignment.cpp); not those under a sanitizer.
# DWARF 4: with 5, clang++ warns of checksums when it assembles its own output.
# -fno-section-anchors: on AArch64, g++ would reach a variable from the address of another,
# but red zones change the distance between them.
LAB_TRAPS   := -DWBCPU_RED_ZONES -fsanitize=alignment -fno-sanitize-recover=alignment
# Warnings for learners, once: check mode compiles the same sources. Half-written code has
# unused variables, and threadIdx.x < n compares unsigned with int.
LAB_WARNINGS := -Wall -Wno-unused -Wno-sign-compare
# Unless OPT= says otherwise: a grade takes as long as with -O2, compiling a third less.
LAB_OPT     := $(if $(filter file,$(origin OPT)),-O1,$(OPT))
LAB_COMPILE := $(CXX) $(filter-out $(OPT),$(CPU_FLAGS)) \
               $(if $(filter 1,$(CHECK)),$(CHECK_FLAGS),$(LAB_OPT)) $(if $(SANITIZE),,$(LAB_TRAPS)) \
               $(if $(filter 1,$(CHECK)),,$(LAB_WARNINGS)) \
               -fno-verbose-asm $(if $(findstring clang,$(CXX)),-gdwarf-4,-fno-section-anchors)
LAB_READS   :=
# What every source begins with, compiled once: parsing it takes a tenth of a compilation.
# g++ says nothing when it cannot use the .gch; then it reads the header.
# Build folders with equal flags share it.
empty       :=
FLAGS_NAME  := $(subst $(empty) ,,$(subst /,_,$(CXX)$(if $(filter 1,$(CHECK)),-check,$(LAB_OPT))$(SANITIZE)-$(CPU_TARGET)))
LAB_BEGINS  := $(if $(findstring clang,$(CXX)),,build/host/begins/$(FLAGS_NAME)/cuda_runtime.h)
CU_TOOLS    := $(TRANSLATE)
else
# --- CUDA: nvcc for the GPU found, otherwise for ARCHS ----------------------------------
# Code for 7.5 runs on Turing, for 8.0 on every 8.x, for 9.0 on Hopper; the PTX of the last
# one is compiled by the driver on anything newer. A handout has code for every
# architecture. -fPIC: the same objects become programs and shared libraries.
# 90 means sm_90a: wgmma and setmaxnreg exist only there, and not in PTX for newer GPUs. A
# build for 9.0 alone has no PTX, because everything would be compiled a second time.
ARCHS := $(or $(ARCHS),$(word 2,$(DETECTED)),$(call known_archs,75 80 90))
virtual = -gencode=arch=compute_$(1),code=compute_$(1)
real    = -gencode=arch=compute_$(1),code=sm_$(1)
ARCH  ?= $(foreach sm,$(ARCHS:90=90a),$(call real,$(sm))) \
         $(if $(filter-out 90,$(ARCHS)),$(call virtual,$(lastword $(ARCHS))))
LINEINFO := -lineinfo
CFLAGS   += -fPIC
BACKEND_INCLUDES := -isystem $(CUDA_HOME)/include
BACKEND_LIBS     :=
# Labs do not need cuBLAS, and their sandbox does not read .cuda (tools/setup_cuda.sh).
CUDA_RPATH        = $(if $(filter $(CURDIR)/%,$(CUDA_HOME)),-Xlinker -rpath -Xlinker $(CUDA_HOME)/lib64)
LDLIBS            = -L$(CUDA_HOME)/lib64 $(CUDA_RPATH) \
    -lcudart_static -Wl,--as-needed -lcublas -lcublasLt -Wl,--no-as-needed -lstdc++ \
    -lpthread -ldl -lrt -lm
NVCC_FLAGS = $(NVCC) -std=c++17 $(OPT) $(LINEINFO) --extended-lambda $(ARCH) \
             -Xcompiler -Wall,-fno-gnu-unique,-fPIC
# NVCC_MAKES=-cubin: checks a whole source, but generates only device code; for a test
NVCC_MAKES := -c
define compile_cu
@mkdir -p $(dir $(2))
$(Q)$(NVCC_FLAGS) $(INCLUDES) -MMD -MP -MF $(2:.o=.d) -MT $(2) $(NVCC_MAKES) $(1) -o $(2)
endef
# 177: an unused variable or function
LAB_COMPILE = $(NVCC_FLAGS) -Xcompiler -Wno-unused -diag-suppress 177
LAB_READS  := $(CUDA_HOME)
CU_TOOLS   :=
endif

# --- objects, the library, programs -----------------------------------------------------
# $(B)/objects/PATH.o is the object of PATH.c or PATH.cu.
objects = $(patsubst %,$(B)/objects/%.o,$(basename $(1)))

$(B)/objects/%.o: %.c | setup
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(INCLUDES) $(BACKEND_INCLUDES) $(DEPS) -c $< -o $@

$(B)/objects/%.o: %.cu $(CU_TOOLS) | setup
	$(call compile_cu,$<,$@)

$(TRANSLATE): $(wildcard common/cpu/translate/*.[ch]) | setup
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g -Wall -Wextra -D_GNU_SOURCE $(filter %.c,$^) -o $@

# The sandbox as a command: for compiling sources that are not trusted, and for the tests.
SANDBOXED := build/host/sandboxed
$(SANDBOXED): $(wildcard $(addprefix grader/,$(foreach f,sandboxed sandbox landlock seccomp orphans usage cgroup,$(f).[ch]))) | setup
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra $(filter %.c,$^) -o $@

# All that programs share. The folders are prerequisites because files may be added or
# removed.
LIBRARY_FOLDERS := common $(addprefix common/,griffin ops decoder)
$(B)/libwb.a: $(call objects,$(wildcard $(LIBRARY_FOLDERS:%=%/*.c) common/ops/*.cu)) $(LIBRARY_FOLDERS)
	@rm -f $@
	$(Q)$(AR) cqs $@ $(filter %.o,$^)
WB := $(B)/libwb.a $(BACKEND_LIBS)

# The recipe of every program: objects first, then archives. A .libs holds the linker's
# flags of optional libraries.
define LINK
@mkdir -p $(@D)
$(Q)$(CXX) $(SANITIZE) $(filter %.o,$^) $(filter %.a,$^) -o $@ -l:libjansson.a $(LDLIBS) \
    $(addprefix @,$(filter %/engines.libs,$^))
endef

-include $(shell find $(B)/objects -name '*.d' 2>/dev/null)
