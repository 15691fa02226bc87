# labs.mk - a lab becomes an executable that the grader runs; labs that have passed become
# the kernels of the programs.
#
#   make lab03                      labs/lab03_rmsnorm
#   make lab03 FROM=solutions       solutions/lab03_rmsnorm
#   make lab03 FILE=submission.cu   that file (or folder) in place of the lab
#   make lab03 BUILD=build/ann      in another folder
#
#   make lab03 CHECK=off            without its second program, which runs in check mode
#
# tools/lab.py copies the sources into a private folder, compiles, checks and links them
# inside the sandbox, and writes $(B)/labs/lab03 and its record $(B)/labs/lab03.json. For
# many submissions: tools/grade_submission.
LABS    := $(sort $(basename $(notdir $(wildcard grader/adapters/lab*.c))))
FROM    ?= labs
HARNESS_SOURCES := $(wildcard grader/harness*.c)
HARNESS := $(call objects,$(HARNESS_SOURCES) common/wb.c)
GRADER  := $(B)/grader/grade

ifneq ($(and $(value FILE),$(filter grade labs,$(MAKECMDGOALS))),)
$(error FILE= replaces one lab: make lab03 FILE=...)
endif

lab_folder = $(notdir $(firstword $(wildcard labs/$(1)_*)))
LAB_NAMES := $(LABS) $(foreach l,$(LABS),$(call lab_folder,$(l)))
UNKNOWN   := $(filter-out labs $(LAB_NAMES) $(LABS:%=%-check),$(filter lab%,$(MAKECMDGOALS)))
ifneq ($(UNKNOWN),)
$(error $(firstword $(UNKNOWN)): no such lab; there are $(LABS))
endif

$(LAB_NAMES): grader
	$(Q)$(PYTHON) tools/lab.py $(firstword $(subst _, ,$@)) --build $(B) --from $(FROM) \
	    $(if $(filter off,$(SANDBOX)),--no-sandbox) $(if $(filter off,$(CHECK)),--no-check)

# How tools/lab.py compiles and links.
define LAB_SETTINGS
backend: $(BACKEND)
translate: $(TRANSLATE) $(TRANSLATE_FLAGS)
compile: $(LAB_COMPILE)
copies: $(CHECK_COPIES)
includes: $(INCLUDES)
cc: $(CC)
link: $(CXX) $(SANITIZE) -fno-lto
libs: $(BACKEND_LIBS) $(LDLIBS)
harness: $(HARNESS)
adapters: $(B)/objects/grader/adapters
reads: $(LAB_READS)
begins: $(LAB_BEGINS)
endef
$(B)/labs/settings: export LAB_SETTINGS := $(LAB_SETTINGS)
$(B)/labs/settings: FORCE
	@mkdir -p $(@D)
	@[ "$$LAB_SETTINGS" = "$$(cat $@ 2>/dev/null)" ] || printf '%s\n' "$$LAB_SETTINGS" >$@

# The paths are those that tools/compiling.py uses. A compiler that has the old file open
# keeps it.
BEGINS_COMPILE = $(patsubst -I%,-I$(CURDIR)/%,$(LAB_COMPILE)) -x c++-header \
    $(CURDIR)/common/cpu/include/cuda_runtime.h
$(LAB_BEGINS):
	@mkdir -p $(@D)
	@echo '#include "../../../../common/cpu/include/cuda_runtime.h"' >$@.$$$$ && mv $@.$$$$ $@
$(LAB_BEGINS:=.gch): %.gch: common/cpu/flags mk/toolchain.mk $(shell find common/cpu/include -type f) | % setup
	$(Q)$(BEGINS_COMPILE) -o $@.$$$$ && mv $@.$$$$ $@

grader: $(B)/labs/settings $(LAB_BEGINS:=.gch) $(SANDBOXED) $(GRADER) $(HARNESS) $(BACKEND_LIBS) $(CU_TOOLS) \
        $(LABS:%=$(B)/objects/grader/adapters/%.o) $(if $(CHECK),,check-mode) | setup  ##+ develop: the grader, and what labs are built with

# What the labs' programs in check mode are built with, in build/check.
check-mode: | setup $(CU_TOOLS) $(SANDBOXED)
	$(Q)flock build/lock.check env -u BUILD -u FILE $(MAKE) -s BACKEND=cpu CHECK=1 BUILD=build/check grader

show-backend:
	@echo $(BACKEND)

# make lab03-check HTML=page.html: builds it and shows the whole report of check mode.
$(LABS:%=%-check): %-check: %
	@BUILD=$(B) ./grade $* --check $(if $(value HTML),--html "$$HTML")

lab03-check:  ## learn: a lab's report of check mode: races, bytes per line (HTML=page.html)
lab03:  ## learn: build a lab, then ./grade lab03 (FILE=path, FROM=solutions: other sources)
labs: $(LABS)  ##+ learn: build every lab

grade:  ## learn: build and grade every lab (FROM=solutions: the solutions)
	@$(MAKE) -k labs; worst=0; for lab in $(LABS); do \
	    echo; BUILD=$(B) ./grade $$lab; rc=$$?; [ $$rc -le $$worst ] || worst=$$rc; \
	done; exit $$worst

# --- the grader -------------------------------------------------------------------------
$(GRADER): $(call objects,$(filter-out $(HARNESS_SOURCES) grader/sandboxed.c,$(wildcard grader/*.c)) \
                          $(wildcard common/safetensors*.c) $(addprefix common/,file.c sha256.c wb.c))
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) $^ -o $@ -l:libjansson.a -lm

.PHONY: FORCE labs show-backend grade grader check-mode $(LAB_NAMES)
FORCE:

# --- the programs' kernels: from labs/ what has passed, else solutions/, else fallback.a 
# A program links $(B)/kernels.o and prints wb_print_kernels of common/kernels.h.
# RECEIPTS: the build folder whose grades count, if not this one.
MINE     ?=
KERNELS   = $(PYTHON) tools/kernels.py
SOLUTIONS := $(wildcard solutions/lab*/*.cu)

$(B)/kernels.json: FORCE $(if $(SOLUTIONS),,$(wildcard fallback/*.a) $(B)/fallback.a) | setup
	@$(KERNELS) choose $(B) '$(MINE)' $(RECEIPTS)

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

figures: | setup  ##+ develop: the figures of the guides (tools/figures.py)
	@$(PYTHON) tools/figures.py

ladder-%: | setup  ## learn: a ladder's rungs as differences, with their gain (ladder-lab03)
	@$(PYTHON) tools/ladder.py build/ladder/$*.md $*

reset-%: | setup  ## learn: start a lab again (reset-lab03; keeps a backup)
	@$(PYTHON) tools/starters.py reset $*

# A handout's kernels run on every CPU and GPU, and do not contain lines of their sources.
# They are linked into programs and into shared libraries.
HANDOUT_TARGET ?= portable
handout: | setup  ## course: a tree without solutions: make handout OUT=folder [LADDER=1]
	@$(if $(and $(filter command,$(origin OUT)),$(OUT)),, \
	    echo "make handout OUT=folder: name the folder to write"; exit 1)
	@$(MAKE) BACKEND=cpu BUILD=build/handout/cpu CPU_TARGET=$(HANDOUT_TARGET) OPT="$(OPT) $(PIC)" \
	    build/handout/cpu/fallback.a
	@$(if $(NVCC),$(MAKE) BACKEND=cuda BUILD=build/handout/cuda LINEINFO= \
	    ARCHS="$(call known_archs,$(ALL_ARCHS))" build/handout/cuda/fallback.a)
	@LADDER=$(LADDER) $(PYTHON) tools/starters.py handout $(OUT) build/handout/cpu/fallback.a \
	    $(if $(NVCC),build/handout/cuda/fallback.a)

.PHONY: starters figures handout
