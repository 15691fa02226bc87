# labs.mk - a learner's lab becomes an executable of its own, and passed labs the kernels of
# the programs.
#
#   make lab03                      labs/lab03_rmsnorm
#   make lab03 FROM=solutions       solutions/lab03_rmsnorm
#   make lab03 FILE=submission.cu   that file (or folder) in the lab's place
#   make lab03 BUILD=build/ann      elsewhere, so that gradings can run side by side
#
# $(B)/labs/lab03.parts/ holds the objects; tools/lab.py isolates and scans them; the
# executable is linked with the grader's harness and $(B)/labs/lab03.json says from what.
LABS    := $(sort $(basename $(notdir $(wildcard grader/adapters/lab*.c))))
FROM    ?= labs
HARNESS := $(B)/grader/harness.o $(B)/common/wb.o
JUDGES  := $(wildcard grader/*.[ch] reference/*.py) $(addprefix tools/,lab.py labkit.py scan.py)

ifneq ($(FILE),)
ifneq ($(words $(FILE)),1)
$(error FILE="$(FILE)": a path with spaces in it cannot be built; rename or copy it)
endif
ifeq ($(wildcard $(FILE)),)
$(error FILE=$(FILE): there is no such file or folder)
endif
ifneq ($(filter %.cu,$(FILE)),)
GIVEN := $(FILE)
else
GIVEN := $(wildcard $(FILE)/*.cu)
endif
ifeq ($(GIVEN),)
$(error FILE=$(FILE): not a .cu file, and not a folder that has one)
endif
endif

lab_folder  = $(notdir $(firstword $(wildcard labs/$(1)_*)))
lab_source  = $(or $(FILE),$(FROM)/$(call lab_folder,$(1)))
lab_sources = $(or $(GIVEN),$(wildcard $(FROM)/$(call lab_folder,$(1))/*.cu))
lab_headers = $(foreach d,$(sort $(dir $(call lab_sources,$(1)))),$(wildcard $(d)*.cuh $(d)*.h))
lab_object  = $(B)/labs/$(1).parts/$(basename $(notdir $(2))).o
lab_objects = $(foreach s,$(call lab_sources,$(1)),$(call lab_object,$(1),$(s)))

LAB_NAMES := $(LABS) $(foreach l,$(LABS),$(call lab_folder,$(l)))
UNKNOWN   := $(filter-out labs $(LAB_NAMES),$(filter lab%,$(MAKECMDGOALS)))
ifneq ($(UNKNOWN),)
$(error $(firstword $(UNKNOWN)): no such lab; there are $(LABS))
endif
ifneq ($(and $(FILE),$(filter grade labs,$(MAKECMDGOALS))),)
$(error FILE=$(FILE) stands for one lab: make lab03 FILE=$(FILE))
endif

# The rules of one lab. parts/from changes when other sources or flags are asked for, and
# when a source does: an older file that is put back has an older time stamp than its object.
define lab_rules
$(1) $(call lab_folder,$(1)): $(B)/labs/$(1)
$(B)/labs/$(1).parts/from: FORCE
	@mkdir -p $$(@D)
	@{ echo '$(call lab_source,$(1)) $(CXX) $(OPT) $(SANITIZE) $(ARCH)'; \
	    cat /dev/null $(call lab_sources,$(1)) $(call lab_headers,$(1)) | sha256sum; } > $$@.new
	@if cmp -s $$@.new $$@; then rm $$@.new; else rm -f $$(@D)/*.[od]; mv $$@.new $$@; fi
$(foreach s,$(call lab_sources,$(1)),$(call lab_compile,$(1),$(s)))
$(B)/labs/$(1): $(call lab_objects,$(1)) $(B)/labs/$(1).parts/from $(HARNESS) \
                $(B)/grader/adapters/$(1).o $(BACKEND_LIBS) $(JUDGES) \
                $(wildcard labs/$(1)_*/*.h labs/$(1)_*/cases)
	@rm -f $$@.json
	@$(if $(call lab_sources,$(1)),,echo "$(1): no .cu in $(call lab_source,$(1))"; exit 1)
	$(Q)$$(PYTHON) tools/lab.py --lab $(1) --backend $(BACKEND) --parts $$@.parts \
	    --source $(call lab_source,$(1)) --harness $(HARNESS) $(B)/grader/adapters/$(1).o \
	    --sources $(call lab_sources,$(1)) --objects $(call lab_objects,$(1))
	$(Q)$(CC) -w -c $$@.parts/missing.c -o $$@.parts/missing.o
	$(Q)$(CXX) $(SANITIZE) $$@.parts/student.o $$@.parts/missing.o \
	    $(B)/grader/adapters/$(1).o $(HARNESS) $(BACKEND_LIBS) $(LDLIBS) -o $$@ || \
	    { echo "$(1): a name is used that is defined nowhere: see the linker's message"; exit 1; }
	@cp $$@.parts/lab.json $$@.json
	@echo "$(1): built from $(call lab_source,$(1)); now ./grade $(1)"
endef

define lab_compile

$(call lab_object,$(1),$(2)): $(2) $(B)/labs/$(1).parts/from $(CU_TOOLS) | setup
	$$(call compile_cu,$(2),$$@,|| \
	    { echo "$(1): $(2) does not compile: mend the first error above"; exit 1; })

endef

$(foreach lab,$(LABS),$(eval $(call lab_rules,$(lab))))

lab03:  ## build one lab, any of labNN; FILE=path or FROM=solutions builds that in its place
labs: $(LABS)  ## build every lab

grade:  ## build and grade every lab (FROM=solutions: the solutions)
	@$(MAKE) -k labs; worst=0; for lab in $(LABS); do \
	    echo; BUILD=$(B) ./grade $$lab; rc=$$?; [ $$rc -le $$worst ] || worst=$$rc; \
	done; exit $$worst

check: test  ## the same as make test

.PHONY: FORCE labs grade check $(LAB_NAMES)
FORCE:

# --- the programs' kernels: from labs/ what has passed, else solutions/, else fallback.a -----
# A program links $(B)/kernels.o and prints wb_print_kernels of common/kernels.h.
MINE    ?=
KERNELS  = $(PYTHON) tools/kernels.py
SOLUTIONS := $(patsubst %.cu,$(B)/%.o,$(wildcard solutions/lab*/*.cu))

$(B)/kernels.json: FORCE $(if $(SOLUTIONS),,$(wildcard fallback/*.a) $(B)/fallback.a) | setup
	@$(KERNELS) choose $(B) '$(MINE)'

# Makes the chosen objects; is newer than kernels.o if one of them is.
$(B)/kernels.made: $(B)/kernels.json FORCE
	@objects=$$($(KERNELS) objects $(B)); \
	[ -z "$$objects" ] || $(MAKE) -s $$objects FILE= && \
	if [ ! -e $@ ] || [ -n "$$(find $$objects $< -newer $@)" ]; then touch $@; fi

$(B)/kernels.o: $(B)/kernels.made tools/kernels.py tools/labkit.py common/kernels.h \
                $(if $(SOLUTIONS),,$(B)/fallback.a)
	$(Q)$(KERNELS) link $(B)
	$(Q)$(CC) -Icommon -c $(B)/kernels/table.c -o $(B)/kernels/table.o
	$(Q)$(LD) -r $(B)/kernels/*.o -o $@

# What a handout carries instead of solutions/; there it is only copied into place.
SHIPPED := $(wildcard fallback/$(BACKEND)-$(shell uname -m).a)
$(B)/fallback.a: $(or $(SHIPPED),$(SOLUTIONS))
	@mkdir -p $(@D)
	$(Q)$(if $(SHIPPED),cp $< $@,$(if $(SOLUTIONS),$(KERNELS) fallback $(B)))

# --- one object of all parts of a solution, as benchmarks and tests link it ------------------
# $(B)/solutions/lab03_rmsnorm.o: only the contract's functions can be seen.
define solution_rule  # (folder)
$(B)/solutions/$(1).o: $(patsubst %.cu,$(B)/%.o,$(wildcard solutions/$(1)/*.cu)) \
                       tools/kernels.py tools/labkit.py | setup
	$$(Q)$$(KERNELS) join $$@ $(1) $$(filter %.o,$$^)
endef
SOLUTION_FOLDERS := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard solutions/lab*/*.cu)))))
$(foreach folder,$(SOLUTION_FOLDERS),$(eval $(call solution_rule,$(folder))))

# --- starters and handouts ------------------------------------------------------------------
starters: | setup  ## labs/ from solutions/ (refuses to lose an edited lab)
	@$(PYTHON) tools/starters.py write

reset-%: | setup  ## start a lab again: make reset-lab03 (keeps a backup)
	@$(PYTHON) tools/starters.py reset $*

HANDOUT_TARGET ?= $(if $(filter x86_64,$(shell uname -m)),x86-64-v3,armv8-a)
# Its CUDA kernels are for every card, not this machine's alone (CARD=), and without the names
# and lines of their sources.
handout: | setup  ## a tree for a course, without solutions: make handout OUT=dir
	@$(if $(and $(filter command,$(origin OUT)),$(OUT)),, \
	    echo "make handout OUT=dir: say where to"; exit 1)
	@$(MAKE) BACKEND=cpu BUILD=build/handout/cpu CPU_TARGET=$(HANDOUT_TARGET) \
	    build/handout/cpu/fallback.a
	@$(if $(NVCC),$(MAKE) BACKEND=cuda BUILD=build/handout/cuda CARD= LINEINFO= \
	    build/handout/cuda/fallback.a)
	@$(PYTHON) tools/starters.py handout $(OUT) build/handout/cpu/fallback.a \
	    $(if $(NVCC),build/handout/cuda/fallback.a)

.PHONY: starters handout

# --- tests ----------------------------------------------------------------------------------
$(B)/tests/labs/fence: $(B)/tests/labs/fence.o \
                       $(addprefix $(B)/grader/,sandbox.o landlock.o seccomp.o)
	$(Q)$(CC) $^ -o $@
$(B)/tests/labs/intruder: $(B)/tests/labs/intruder.o
	$(Q)$(CC) $^ -o $@ -lpthread
TEST_PROGRAMS += $(B)/tests/labs/fence $(B)/tests/labs/intruder $(HARNESS) $(BACKEND_LIBS) \
                 $(GRADER) $(LABS:%=$(B)/grader/adapters/%.o)
