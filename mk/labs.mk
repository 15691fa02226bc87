# labs.mk - a lab becomes an executable that the grader runs; labs that have passed become
# the kernels of the programs.
#
#   make lab03                      labs/lab03_rmsnorm
#   make lab03 FROM=solutions       solutions/lab03_rmsnorm
#   make lab03 FILE=submission.cu   that file (or folder) in place of the lab
#   make lab03 BUILD=build/ann      in another folder, so that gradings can run in parallel
#
# $(B)/labs/lab03.parts/ holds the objects; tools/lab.py isolates and scans them; the
# executable is linked with the grader's harness, and $(B)/labs/lab03.json records its
# sources.
LABS    := $(sort $(basename $(notdir $(wildcard grader/adapters/lab*.c))))
FROM    ?= labs
HARNESS := $(call objects,grader/harness.c common/wb.c)
GRADER  := $(B)/grader/grade
JUDGES  := $(wildcard grader/*.[ch] reference/*.py) $(addprefix tools/,lab.py labkit.py scan.py)

ifneq ($(FILE),)
GIVEN := $(if $(filter %.cu,$(FILE)),$(FILE),$(wildcard $(FILE)/*.cu))
ifneq ($(words $(FILE)),1)
$(error FILE="$(FILE)": the path has a space in it; rename or copy it)
else ifeq ($(wildcard $(FILE)),)
$(error FILE=$(FILE): no such file or folder)
else ifeq ($(GIVEN),)
$(error FILE=$(FILE): neither a .cu file nor a folder with one)
else ifneq ($(filter grade labs,$(MAKECMDGOALS)),)
$(error FILE=$(FILE) replaces one lab: make lab03 FILE=$(FILE))
endif
endif

lab_folder  = $(notdir $(firstword $(wildcard labs/$(1)_*)))
lab_source  = $(or $(FILE),$(FROM)/$(call lab_folder,$(1)))
lab_sources = $(or $(GIVEN),$(wildcard $(FROM)/$(call lab_folder,$(1))/*.cu))
lab_headers = $(foreach d,$(sort $(dir $(call lab_sources,$(1)))),$(wildcard $(d)*.cuh $(d)*.h))
lab_objects = $(patsubst %.cu,$(B)/labs/$(1).parts/%.o,$(notdir $(call lab_sources,$(1))))

LAB_NAMES := $(LABS) $(foreach l,$(LABS),$(call lab_folder,$(l)))
UNKNOWN   := $(filter-out labs $(LAB_NAMES),$(filter lab%,$(MAKECMDGOALS)))
ifneq ($(UNKNOWN),)
$(error $(firstword $(UNKNOWN)): no such lab; there are $(LABS))
endif

$(LAB_NAMES): $$(B)/labs/$$(firstword $$(subst _, ,$$@)) $(GRADER)

# What a lab was compiled from. It changes with the flags and with the content of a
# source: an older file that is put back has an older time stamp than its object.
$(LABS:%=$(B)/labs/%.parts/from): $(B)/labs/%.parts/from: FORCE
	@mkdir -p $(@D)
	@{ echo '$(call lab_source,$*) $(CXX) $(OPT) $(SANITIZE) $(ARCH)'; \
	    cat /dev/null $(call lab_sources,$*) $(call lab_headers,$*) | sha256sum; } > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else rm -f $(@D)/*.[od]; mv $@.new $@; fi

# An object in lab03.parts/: the stem is lab03.parts/rmsnorm.
part_lab    = $(patsubst %.parts/,%,$(dir $(1)))
part_source = $(foreach s,$(call lab_sources,$(part_lab)),$(if \
                  $(filter $(notdir $(1)).cu,$(notdir $(s))),$(s)))
$(B)/labs/%.o: $$(call part_source,$$*) $(B)/labs/$$(call part_lab,$$*).parts/from $(CU_TOOLS) | setup
	$(call compile_cu,$<,$@,|| { echo "$(call part_lab,$*): $< does not compile: fix the first error above"; exit 1; })

$(LABS:%=$(B)/labs/%): $(B)/labs/%: $$(call lab_objects,$$*) $(B)/labs/%.parts/from $(HARNESS) \
        $(B)/objects/grader/adapters/%.o $(BACKEND_LIBS) $(JUDGES) \
        $$(wildcard labs/$$*_*/*.h labs/$$*_*/cases common/cuda/*)
	@rm -f $@.json
	@$(if $(call lab_sources,$*),,echo "$*: no .cu in $(call lab_source,$*)"; exit 1)
	$(Q)$(PYTHON) tools/lab.py --lab $* --backend $(BACKEND) --parts $@.parts \
	    --source $(call lab_source,$*) --harness $(HARNESS) $(B)/objects/grader/adapters/$*.o \
	    --sources $(call lab_sources,$*) --objects $(call lab_objects,$*)
	$(Q)$(CC) -w -c $@.parts/missing.c -o $@.parts/missing.o
	$(Q)$(CXX) $(SANITIZE) $@.parts/student.o $@.parts/missing.o \
	    $(B)/objects/grader/adapters/$*.o $(HARNESS) $(BACKEND_LIBS) $(LDLIBS) -o $@ || \
	    { echo "$*: a name is used that is not defined anywhere: see the linker's message"; exit 1; }
	@cp $@.parts/lab.json $@.json
	@echo "$*: built from $(call lab_source,$*); now ./grade $*"

lab03:  ## learn: build a lab, then ./grade lab03 (FILE=path, FROM=solutions: other sources)
labs: $(LABS)  ##+ learn: build every lab

grade:  ## learn: build and grade every lab (FROM=solutions: the solutions)
	@$(MAKE) -k labs; worst=0; for lab in $(LABS); do \
	    echo; BUILD=$(B) ./grade $$lab; rc=$$?; [ $$rc -le $$worst ] || worst=$$rc; \
	done; exit $$worst

# --- the grader -------------------------------------------------------------------------
$(GRADER): $(call objects,$(filter-out %/harness.c %/fence.c,$(wildcard grader/*.c)) \
                          $(addprefix common/,safetensors.c file.c sha256.c wb.c))
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) $^ -o $@ -l:libjansson.a -lm
grader: $(GRADER)  ##+ develop: the grader alone (make lab03 builds it too)

.PHONY: FORCE labs grade grader $(LAB_NAMES)
FORCE:

# --- the programs' kernels: from labs/ what has passed, else solutions/, else fallback.a 
# A program links $(B)/kernels.o and prints wb_print_kernels of common/kernels.h.
MINE     ?=
KERNELS   = $(PYTHON) tools/kernels.py
SOLUTIONS := $(wildcard solutions/lab*/*.cu)

$(B)/kernels.json: FORCE $(if $(SOLUTIONS),,$(wildcard fallback/*.a) $(B)/fallback.a) | setup
	@$(KERNELS) choose $(B) '$(MINE)'

# Compiles the chosen objects; is newer than kernels.o if one of them is.
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
$(B)/fallback.a: $(or $(SHIPPED),$(call objects,$(SOLUTIONS)))
	@mkdir -p $(@D)
	$(Q)$(if $(SHIPPED),cp $< $@,$(if $(SOLUTIONS),$(KERNELS) fallback $(B)))

# $(B)/solutions/lab03_rmsnorm.o: all parts of a solution as one object, for benchmarks
# and tests. Only the contract's functions are visible.
SOLUTION_OBJECTS := $(patsubst solutions/%/,$(B)/solutions/%.o,$(sort $(dir $(SOLUTIONS))))
$(SOLUTION_OBJECTS): $(B)/solutions/%.o: $$(call objects,$$(wildcard solutions/$$*/*.cu)) \
                     tools/kernels.py tools/labkit.py | setup
	@mkdir -p $(@D)
	$(Q)$(KERNELS) join $@ $* $(filter %.o,$^)

# --- starters and handouts --------------------------------------------------------------
starters: | setup  ## develop: labs/ from solutions/ (never overwrites an edited lab)
	@$(PYTHON) tools/starters.py write

reset-%: | setup  ## learn: start a lab again (reset-lab03; keeps a backup)
	@$(PYTHON) tools/starters.py reset $*

# A handout's kernels run on every CPU and GPU, and do not contain lines of their sources.
HANDOUT_TARGET ?= $(if $(filter x86_64,$(shell uname -m)),x86-64-v3,armv8-a)
handout: | setup  ## course: a tree without solutions: make handout OUT=folder
	@$(if $(and $(filter command,$(origin OUT)),$(OUT)),, \
	    echo "make handout OUT=folder: name the folder to write"; exit 1)
	@$(MAKE) BACKEND=cpu BUILD=build/handout/cpu CPU_TARGET=$(HANDOUT_TARGET) \
	    build/handout/cpu/fallback.a
	@$(if $(NVCC),$(MAKE) BACKEND=cuda BUILD=build/handout/cuda LINEINFO= \
	    ARCHS="$(call known_archs,$(ALL_ARCHS))" build/handout/cuda/fallback.a)
	@$(PYTHON) tools/starters.py handout $(OUT) build/handout/cpu/fallback.a \
	    $(if $(NVCC),build/handout/cuda/fallback.a)

.PHONY: starters handout
