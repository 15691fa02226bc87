# blas.mk - matrix products of the CPU back end: where OpenBLAS is, tests, comparison.
#   OPENBLAS=path of libopenblas, or empty for the own product; WB_BLAS chooses at run time.
OPENBLAS ?= $(shell $(PYTHON) -c 'import scipy_openblas32 as o; \
    print(o.get_lib_dir() + "/" + o.get_library(fullname=True))' 2>/dev/null)

$(B)/common/cpu/openblas.o: CPU_FLAGS += -DWBCPU_OPENBLAS='"$(OPENBLAS)"'
$(B)/common/cpu/gemm.o $(B)/common/cpu/cublas.o: CPU_FLAGS += -O3

# Programs that are one .cu each: the same on a card.
LIB_TESTS := $(addprefix $(B)/tests/cpu/,float16 wmma mma cooperative cublas)
TEST_PROGRAMS += $(LIB_TESTS)
$(LIB_TESTS) $(B)/bench/cpu_gemm: %: %.o $(BACKEND_LIBS)
	$(Q)$(CXX) $(SANITIZE) $^ -o $@ $(LDLIBS)

bench-cpu-gemm: $(B)/bench/cpu_gemm | setup  ## matrix products on the CPU beside NumPy's
	@$(PYTHON) bench/cpu_gemm.py $<

.PHONY: bench-cpu-gemm
