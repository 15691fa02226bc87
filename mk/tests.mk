# tests.mk - `make test` installs what it needs, builds everything and runs every suite.
CRITERION := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_*.c))
# The longest start first, so that the runners of tests/run.sh end at the same time.
LONGEST   := $(wildcard tests/grader/suite_submission.sh tests/build/suite_cuda.sh \
                 tests/labs/suite_lab*.sh tests/mutants/suite_lab*.sh tests/docs/suite.sh \
                 tests/labs/suite_handout.sh tests/check/suite_programs.sh \
                 tests/labs/suite_kernels.sh tests/grader/suite.sh tests/reference/suite.sh \
                 tests/cpu/suite_compile.sh tests/grader/suite_cli.sh tests/labs/suite_build.sh)
SUITES    := $(LONGEST) $(filter-out $(LONGEST),$(sort $(wildcard tests/*/suite*.sh)))
RUN_TESTS  = B=$(B) PYTHON=$(PYTHON) NVCC=$(NVCC) tests/run.sh

ifeq ($(wildcard tests/run.sh),)
ifneq ($(filter test test-%,$(MAKECMDGOALS)),)
$(error a handout has no tests of the workbook; to test your lab: make lab03 && ./grade lab03)
endif
endif

# Builds on all cores. kernels.o comes first: a make of its own compiles the solutions, and
# would compile them at the same time as this one.
MAKE_ALL = $(MAKE) $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
BUILD_TESTS = $(MAKE_ALL) $(B)/kernels.o && $(MAKE_ALL) test-programs

# Kernels compile while packages are downloaded.
test: export SHARED_OPT = -O0
test: build/host/setup.base  ## develop: every test (installs what it needs)
	@$(MAKE_ALL) build/host/setup.test $(B)/kernels.o
	@$(MAKE_ALL) test-programs $(CRITERION)
	@$(RUN_TESTS) $(CRITERION) $(SUITES)

# The suites of a subject, and its Criterion programs: tests/test_rglru.c,
# test_rglru_scan.c
criterion_of = $(addprefix $(B)/tests/,$(filter test_$(1) test_$(1)_%,$(notdir $(CRITERION))))
test-%: setup-test  ## develop: one suite: test-cpu, test-grader, test-labs, test-tinylm ...
	@$(BUILD_TESTS) $(call criterion_of,$*)
	@$(RUN_TESTS) $(wildcard tests/$*/suite*.sh) $(call criterion_of,$*)

# Each subject adds what its suites run.
test-programs: $$(TEST_PROGRAMS)

test-gpu:  ## develop: on a computer with a GPU: suites, solutions, compute-sanitizer
	@BACKEND=cuda PYTHON=$(PYTHON) tests/gpu.sh

ARM_LABS := lab00 lab03
test-arm: | setup  ## develop: on 64-bit Arm, in a virtual machine: two labs, ARM_SUITES= (tests/arm.sh)
	@LABS="$(ARM_LABS)" PYTHON=$(PYTHON) tests/arm.sh $(ARM_SUITES)

examples: | setup  ##+ develop: run the commands of the examples in the guides again
	@$(PYTHON) tools/examples.py write --all

compile-archs:  ## develop: compile all device code for every GPU architecture since Turing
	@NVCC="$(NVCC)" tools/compile_archs.sh $(ALL_ARCHS)

# For tests/gpu.sh: the labs, and the programs, each of which is a suite.
list-labs:
	@echo $(LABS)
list-arm:
	@echo $(CPU_TESTS) $(LIB_TESTS) $(addprefix $(B)/tests/labs/,intruder old_kernel)
list-tests:
	@echo $(CRITERION) $(sort $(filter $(B)/tests/cpu/%,$(TEST_PROGRAMS)))

# Criterion programs link the library, and what a line `// links: grader/data.o ...`
# names.
LINKS := $(shell awk '/^\/\/ links: / { for (i = 3; i <= NF; i++) print FILENAME ":" $$i }' \
                 $(wildcard tests/test_*.c) /dev/null)
links = $(patsubst tests/$(1).c:%,$(B)/%,$(filter tests/$(1).c:%,$(LINKS)))
$(CRITERION:=.o): | setup-test  # criterion.h may not be installed yet
$(CRITERION): $(B)/tests/%: $(B)/objects/tests/%.o $$(call links,$$*) $(WB)
	$(LINK) -lcriterion

# The common ops need lab 04's softmax. Only their data need Python: copied to a computer
# with a GPU, they stay as they are.
OPS_DATA := build/host/ops-data
$(B)/tests/ops/ops: $(call objects,$(wildcard tests/ops/*.c tests/ops/*.cu)) \
        $(B)/solutions/lab04_softmax.o $(WB)
	$(LINK)
$(OPS_DATA)/names: tests/ops/cases tests/ops/make_data.py $(wildcard reference/*.py) | setup
	@$(PYTHON) tests/ops/make_data.py $(OPS_DATA)
ops-data: $(OPS_DATA)/names  ##+ develop: expected results of the common ops, for a computer without Python

$(B)/tests/labs/%: $(B)/objects/tests/labs/%.o
	$(LINK)

TEST_PROGRAMS += $(B)/tests/ops/ops $(OPS_DATA)/names $(SANDBOXED) $(LAB_BEGINS:=.gch) \
                 $(addprefix $(B)/tests/labs/,intruder old_kernel) $(GRADER) $(HARNESS) \
                 $(LABS:%=$(B)/objects/grader/adapters/%.o) $(WB) $(if $(CHECK),,check-mode)
.PHONY: examples test test-programs test-gpu test-arm compile-archs list-labs list-tests list-arm ops-data
