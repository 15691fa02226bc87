# cpu.mk - the CPU back end: its library, its GEMM, its tests under sanitizers and
# valgrind.
#   OPENBLAS=path of libopenblas, or empty for the built-in GEMM; WB_BLAS chooses at run time.
#
# A file of common/cpu/units includes several sources. Compiled one by one, they take twice
# as long, because of the headers. The comment at the top of a unit names its options: most
# run as fast with -O1 as with -O2, and compile faster. Under sanitizers there are none,
# because -O3 would take longer to compile than the tests to run. tools/wbcc compiles the
# same units. The library's static variables are constructed before those of the
# program, whose constructors may call CUDA, and destroyed after them.
ifeq ($(BACKEND),cpu)
CPU_UNITS := common/cpu/units $(if $(filter 1,$(CHECK)),common/cpu/check/units)
$(B)/libwbcpu.a: $(call objects,$(wildcard $(CPU_UNITS:%=%/*.cpp)) common/cpu/switch.S) $(CPU_UNITS)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)
	$(Q)objcopy --rename-section .init_array=.init_array.00101 $@

# -g0: check mode reads the debug information of the whole program when it starts. clang++
# does not know some of the options (-Wno-ignored-optimization-argument).
UNIT_OPTIONS = $(if $(SANITIZE),,$(shell sed -n 's/.*Options: \([^.]*\).*/\1/p' $<))
LIBRARY_FLAGS := $(if $(filter 1,$(CHECK)),-DWBCPU_CHECK -fno-optimize-sibling-calls -g0)
$(B)/objects/common/cpu/%.o: common/cpu/%.cpp | setup
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CPU_FLAGS) $(UNIT_OPTIONS) $(LIBRARY_FLAGS) $(FILE_FLAGS) -Wall -Wextra \
	    -Wno-ignored-optimization-argument $(DEPS) -c $< -o $@ $(COPIES)

$(B)/objects/common/cpu/%.o: common/cpu/%.S | setup
	@mkdir -p $(@D)
	$(Q)$(CC) -c $< -o $@
endif

OPENBLAS ?= $(shell $(PYTHON) -c 'import scipy_openblas32 as o; \
    print(o.get_lib_dir() + "/" + o.get_library(fullname=True))' 2>/dev/null)
# Check mode looks at each access of cuBLAS and cuSPARSE; GEMMs name whole matrices.
ifeq ($(CHECK),1)
$(B)/objects/common/cpu/units/blas.o: FILE_FLAGS = -fsanitize=thread -Wno-tsan \
    --param=tsan-instrument-func-entry-exit=0
$(B)/objects/common/cpu/units/blas.o: COPIES = && $(CHECK_COPIES) $@
endif
$(B)/objects/common/cpu/units/loops.o: FILE_FLAGS = -DWBCPU_OPENBLAS='"$(OPENBLAS)"'

# --- programs of one .cu each; the tests run unchanged on a GPU, except backend ---------
CPU_TESTS := $(addprefix $(B)/tests/cpu/,language warps blocks runtime \
                         $(if $(filter cpu,$(BACKEND)),backend whole_blocks whole_calls))
LIB_TESTS := $(addprefix $(B)/tests/cpu/,float16 exponentials wmma mma cooperative cublas \
                         wgmma tma cluster $(if $(filter cpu,$(BACKEND)),hopper_wrong))
TEST_PROGRAMS += $(CPU_TESTS) $(LIB_TESTS)
$(CPU_TESTS) $(LIB_TESTS) $(B)/bench/cpu_kernels $(B)/bench/cpu_loops $(B)/bench/cpu_gemm: $(B)/%: \
        $(B)/objects/%.o $(BACKEND_LIBS)
	$(LINK)
$(addprefix $(B)/objects/tests/cpu/,backend.o whole_blocks.o whole_calls.o): private INCLUDES += -Icommon/cpu/include
# They compare a kernel as loops and as fibers bit for bit; FMA contraction may differ.
$(addprefix $(B)/objects/tests/cpu/,whole_blocks.o whole_calls.o): private CPU_FLAGS += -ffp-contract=off
# It instantiates every shape of wgmma; -O2 doubles the time to compile it.
$(B)/objects/tests/cpu/wgmma.o: private CPU_FLAGS += -O1

# Programs of check mode; `make CHECK=1` builds them in build/check.
CHECK_TESTS := $(addprefix $(B)/,tests/check/counts tests/check/async docs/check/mistakes)
$(CHECK_TESTS): $(B)/%: $(B)/objects/%.o $(BACKEND_LIBS)
	$(LINK)

$(B)/bench/cpu_loops: $(B)/objects/bench/openmp_loops.o
$(B)/bench/cpu_loops: private LDLIBS += -lgomp
$(B)/objects/bench/openmp_loops.o: private CPU_FLAGS += -fopenmp
bench-cpu: $(B)/bench/cpu_kernels $(B)/bench/cpu_loops  ##+ measure: kernels on the CPU back end (PROTOTYPE=folder: on that one too)
	@$(if $(PROTOTYPE),$(PROTOTYPE)/cucc -O2 bench/cpu_kernels.cu -o $(B)/bench/cpu_kernels_other)
	@$(PYTHON) bench/cpu_kernels.py $(B)/bench/cpu_kernels \
	    $(if $(PROTOTYPE),$(B)/bench/cpu_kernels_other) $(ARGS)
	@WB_THREADS=1 OMP_NUM_THREADS=1 $(B)/bench/cpu_loops

bench-cpu-gemm: $(B)/bench/cpu_gemm | setup  ##+ measure: GEMMs on the CPU, compared with NumPy
	@$(PYTHON) bench/cpu_gemm.py $<

# --- sanitizers -------------------------------------------------------------------------
SANITIZED := BACKEND=cpu BUILD=build/cpu-asan OPT=-O0 \
             SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
asan-programs:
	@$(MAKE) $(SANITIZED) $(CPU_TESTS:$(B)/%=build/cpu-asan/%)
asan-lab%:
	@$(MAKE) $(SANITIZED) lab$*
asan: asan-programs  ## develop: the CPU back end's tests under AddressSanitizer and UBSan
	@for t in $(CPU_TESTS:$(B)/%=build/cpu-asan/%); do echo "# $$t"; $$t || exit 1; done

# valgrind does not know AVX-512; WBCPU_VALGRIND tells it about each fiber's stack.
VALGRIND_TESTS := $(patsubst $(B)/%,build/cpu-valgrind/%,$(filter-out %/backend %/whole_blocks %/whole_calls,$(CPU_TESTS)))
VALGRIND_BUILD := BACKEND=cpu BUILD=build/cpu-valgrind CPU_TARGET=x86-64-v3 SANITIZE=-DWBCPU_VALGRIND
valgrind:  ## develop: the same under memcheck (without the guard against host accesses)
	@$(MAKE) $(VALGRIND_BUILD) $(VALGRIND_TESTS)
	@for t in $(VALGRIND_TESTS); do echo "# $$t"; \
	    WB_THREADS=2 valgrind -q --error-exitcode=9 --leak-check=full $$t || exit 1; done

.PHONY: bench-cpu bench-cpu-gemm asan-programs asan valgrind
