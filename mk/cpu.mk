# cpu.mk - the CPU back end: its library, its suite under sanitizers and valgrind, its speed.
ifeq ($(BACKEND),cpu)
CPU_LIB_SRC := $(wildcard common/cpu/*.cpp) common/cpu/switch.S
CPU_LIB_OBJ := $(addprefix $(B)/,$(addsuffix .o,$(basename $(CPU_LIB_SRC))))

$(B)/libwbcpu.a: $(CPU_LIB_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(B)/common/cpu/%.o: common/cpu/%.cpp | setup
	@mkdir -p $(@D)
	$(Q)$(CXX) $(CPU_FLAGS) -Wall -Wextra -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@

$(B)/common/cpu/%.o: common/cpu/%.S | setup
	@mkdir -p $(@D)
	$(Q)$(CC) -c $< -o $@
endif

# --- speed ----------------------------------------------------------------------------------
bench-cpu: $(B)/bench/cpu_kernels  ## kernels on the CPU back end (PROTOTYPE=DIR: beside that)
	@$(if $(PROTOTYPE),$(PROTOTYPE)/cucc -O2 bench/cpu_kernels.cu -o $(B)/bench/cpu_kernels_other)
	@$(PYTHON) bench/cpu_kernels.py $(B)/bench/cpu_kernels \
	    $(if $(PROTOTYPE),$(B)/bench/cpu_kernels_other) $(ARGS)

$(B)/bench/cpu_kernels: $(B)/bench/cpu_kernels.o $(BACKEND_LIBS)
	$(Q)$(CXX) $(SANITIZE) $^ -o $@ $(LDLIBS)

.PHONY: bench-cpu

# --- its own tests: programs of one .cu each, the same on a card (but for backend) ------------
CPU_TESTS := $(addprefix $(B)/tests/cpu/,language warps blocks runtime $(if $(filter cpu,$(BACKEND)),backend))
TEST_PROGRAMS += $(CPU_TESTS)
$(CPU_TESTS): %: %.o $(BACKEND_LIBS)
	$(Q)$(CXX) $(SANITIZE) $^ -o $@ $(LDLIBS)
$(B)/tests/cpu/backend.o: INCLUDES += -Icommon/cpu/include

SANITIZED := BACKEND=cpu BUILD=build/cpu-asan OPT=-O1 \
             SANITIZE="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
asan-programs:
	@$(MAKE) $(SANITIZED) $(CPU_TESTS:$(B)/%=build/cpu-asan/%)
asan: asan-programs  ## the CPU back end's programs under AddressSanitizer and UBSan
	@for t in $(CPU_TESTS:$(B)/%=build/cpu-asan/%); do echo "# $$t"; $$t || exit 1; done

# valgrind does not know AVX-512, and learns of each fiber's stack.
VALGRIND_TESTS := $(patsubst $(B)/%,build/cpu-valgrind/%,$(filter-out %/backend,$(CPU_TESTS)))
VALGRIND_BUILD := BACKEND=cpu BUILD=build/cpu-valgrind CPU_TARGET=x86-64-v3 SANITIZE=-DWBCPU_VALGRIND
valgrind:  ## the same under memcheck (but for the guard against host accesses)
	@$(MAKE) $(VALGRIND_BUILD) $(VALGRIND_TESTS)
	@for t in $(VALGRIND_TESTS); do echo "# $$t"; \
	    WB_THREADS=2 valgrind -q --error-exitcode=9 --leak-check=full $$t || exit 1; done

.PHONY: asan-programs asan valgrind
