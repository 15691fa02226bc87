# tests.mk - `make test` installs what it needs, builds everything and runs every suite.
.SECONDEXPANSION:
CRITERION := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_*.c))
SUITES    := $(sort $(wildcard tests/*/suite*.sh))
RUN_TESTS  = BACKEND=$(BACKEND) B=$(B) PYTHON=$(PYTHON) NVCC=$(NVCC) tests/run.sh

$(CRITERION:=.o): | setup-test  # criterion.h may be on its way

test: setup-test $(CRITERION) test-programs  ## every test (installs what it needs)
	@$(RUN_TESTS) $(CRITERION) $(SUITES)

# Criterion programs of a subject: tests/test_rglru.c, tests/test_rglru_scan.c
criterion_of = $(addprefix $(B)/tests/,$(filter test_$(1) test_$(1)_%,$(notdir $(CRITERION))))
test-%: setup-test test-programs $$(call criterion_of,$$*)  ## one suite: make test-cpu, test-grader, test-tinylm ...
	@$(RUN_TESTS) $(wildcard tests/$*/suite*.sh) $(call criterion_of,$*)

# What the suites run must be built first; each subject adds its programs to TEST_PROGRAMS.
test-programs: $$(TEST_PROGRAMS)

test-card:  ## on a machine with a card: suites, solutions, compute-sanitizer
	@BACKEND=cuda PYTHON=$(PYTHON) tests/card.sh

# For tests/card.sh: the labs, and the programs that are a suite each.
list-labs:
	@echo $(LABS)
list-tests:
	@echo $(CRITERION) $(sort $(filter $(B)/tests/cpu/%,$(TEST_PROGRAMS)))

# Criterion programs link what they test by name: tests/test_NAME.c says it in a line
# `// links: common/safetensors.o ...`
links = $(shell sed -n 's,^// links: ,,p' $(1))
$(B)/tests/test_%: $(B)/tests/test_%.o $$(addprefix $(B)/,$$(call links,tests/test_$$*.c)) \
                   $(BACKEND_LIBS)
	$(Q)$(CXX) $(SANITIZE) $(filter-out $(BACKEND_LIBS),$^) $(BACKEND_LIBS) -o $@ -lcriterion -l:libjansson.a $(LDLIBS)

.PHONY: test test-programs test-card list-labs list-tests
