# bench.mk - kernels timed against the copy bandwidth measured in the same run.
#   make bench-rmsnorm         the solution and every rung of its ladder
#   make bench-rmsnorm CODE=solution         one of them
#   make bench-rmsnorm CODE=mine             labs/, next to the figures in the guide
#   make bench-peers           the solutions compared with PyTorch's kernels
#   make bench-recurrentgemma  the engine compared with transformers
#   make bench-peers-cpu       both programs compared with transformers, without a GPU
# bench/OP.c adds a lab (rows: see bench/kernels.h). The programs are
# $(B)/bench/OP.solution, $(B)/bench/OP.01_naive ...; the results are $(B)/bench/OP.jsonl.
BENCH_OPS := $(basename $(notdir $(wildcard bench/*.c)))
CODE      ?= *

ifeq ($(wildcard solutions),)
ifneq ($(filter bench bench-peers $(if $(filter mine,$(CODE)),,$(BENCH_OPS:%=bench-%)),$(MAKECMDGOALS)),)
$(error a handout has no solutions, and these programs time solutions; yours: make bench-rmsnorm CODE=mine)
endif
endif

# A rung need not define every function: stubs replace the others and print WB_TODO.
bench_lab      = $(notdir $(firstword $(wildcard labs/lab*_$(1))))
bench_rungs    = $(basename $(notdir $(sort $(wildcard solutions/lab*_$(1)/ladder/*.cu))))
bench_programs = $(patsubst %,$(B)/bench/$(1).%,$(call bench_rungs,$(1)) solution)

# The stem is OP.CODE.
bench_op   = $(basename $(1))
bench_code = $(if $(filter .mine,$(suffix $(1))),$(B)/bench/$(bench_op).mine.o, \
             $(if $(filter .solution,$(suffix $(1))),$(B)/solutions/$(call bench_lab,$(bench_op)).o, \
                 $(call objects,$(wildcard solutions/lab*_$(bench_op)/ladder/$(patsubst .%,%,$(suffix $(1))).cu))))
BENCH_PROGRAMS := $(foreach op,$(BENCH_OPS),$(call bench_programs,$(op)))
BENCH_MINE     := $(BENCH_OPS:%=$(B)/bench/%.mine)
$(BENCH_PROGRAMS) $(BENCH_MINE): $(B)/bench/%: $$(call bench_code,$$*) $$(call objects,bench/$$(call bench_op,$$*).c) \
        $(B)/bench/$$(call bench_op,$$*).stubs.o $(call objects,bench/kernels.cu common/wb.c) $(BACKEND_LIBS)
	$(LINK)

$(BENCH_OPS:%=$(B)/bench/%.stubs.o): $(B)/bench/%.stubs.o: $$(wildcard labs/lab*_$$*/*.h) \
        tools/kernels.py tools/labkit.py | setup
	@mkdir -p $(@D)
	$(Q)$(KERNELS) stubs $(@:.o=.c) $(call bench_lab,$*)
	$(Q)$(CC) -c $(@:.o=.c) -o $@

# All of the learner's files of a lab as one object
$(BENCH_MINE:%=%.o): $(B)/bench/%.mine.o: $$(call objects,$$(wildcard labs/lab*_$$*/*.cu)) \
        tools/kernels.py tools/labkit.py | setup
	@mkdir -p $(@D)
	$(Q)$(KERNELS) join $@ $(call bench_lab,$*) $(filter %.o,$^)

ifeq ($(CODE),mine)
# Without a GPU: what check mode counts.
ifeq ($(BACKEND),cpu)
$(BENCH_OPS:%=bench-%): bench-%: | setup
	@$(MAKE) -s BACKEND=cpu CHECK=1 BUILD=$(CHECK_BUILD) $(CHECK_BUILD)/bench/$*.mine
	@$(PYTHON) bench/counted.py $(wildcard labs/lab*_$*/README.md) $(CHECK_BUILD)/bench/$*.mine \
	    $(CHECK_BUILD)/bench/$*.mine.jsonl
	@$(PYTHON) bench/mine.py $(wildcard labs/lab*_$*/README.md) $(CHECK_BUILD)/bench/$*.mine.jsonl
else
$(BENCH_OPS:%=bench-%): bench-%: $(B)/bench/%.mine
	@rm -f $<.jsonl
	@$< --json $<.jsonl
	@$(PYTHON) bench/mine.py $(wildcard labs/lab*_$*/README.md) $<.jsonl
endif
else
chosen = $(filter $(B)/bench/$(1).$(subst *,%,$(CODE)),$(call bench_programs,$(1)))
$(BENCH_OPS:%=bench-%): bench-%: $$(call chosen,$$*)
	@rm -f $(B)/bench/$*.jsonl
	@for program in $^; do $$program --json $(B)/bench/$*.jsonl || exit 1; done
	@echo "results: $(B)/bench/$*.jsonl"
endif
bench-programs: $(BENCH_PROGRAMS)
bench: $(BENCH_OPS:%=bench-%)  ## measure: time every kernel
bench-rmsnorm:  ## measure: one lab's kernels (CODE=mine: yours, next to the ladder)

# The counted columns of the guides' ladders: each program makes one call in check mode.
bench-counted-%:  ##+ measure: what check mode counts for each rung, for bench-table-%
	@$(MAKE) -s BACKEND=cpu CHECK=1 BUILD=$(CHECK_BUILD) \
	    $(patsubst $(B)/%,$(CHECK_BUILD)/%,$(call bench_programs,$*))
	@$(PYTHON) bench/counted.py $(wildcard labs/lab*_$*/README.md) $(CHECK_BUILD)/bench \
	    $(CHECK_BUILD)/bench/$*.counted.jsonl
# Grades every lab's solution, as an instructor would.
bench-check:  ##+ measure: what check mode costs: CPU time and wall clock of a grade, per lab
	@for lab in $(LABS); do $(MAKE) -s BACKEND=cpu FROM=solutions $$lab || exit 1; done
	@$(MAKE) -s BACKEND=cpu $(BENCH_OPS:%=build/cpu/bench/%.solution)
	@$(MAKE) -s BACKEND=cpu CHECK=1 BUILD=$(CHECK_BUILD) $(BENCH_OPS:%=$(CHECK_BUILD)/bench/%.solution)
	@$(PYTHON) bench/check_cost.py
bench-table-%:  ##+ measure: write the results of make bench-% on a GPU, and the counts, into the lab's guide
	@$(PYTHON) bench/table.py $(wildcard labs/lab*_$*/README.md) $(B)/bench/$*.jsonl \
	    $(CHECK_BUILD)/bench/$*.counted.jsonl

bench-memory: $(B)/bench/memory_levels  ##+ measure: latency and bandwidth of each level of a GPU's memory
	@$<
$(B)/bench/memory_levels: $(B)/objects/bench/memory_levels.o $(BACKEND_LIBS)
	$(LINK)

# --- compared with PyTorch, which needs a Python with torch -----------------------------
TORCH_PYTHON ?= python3
PEERS        ?=
$(B)/bench/libkernels.so: $(SOLUTION_OBJECTS) common/wb.c common/wb.h
	@$(if $(filter cuda,$(BACKEND)),,echo "$@ runs on a GPU: make BACKEND=cuda ..."; exit 1)
	@mkdir -p $(@D)
	$(Q)$(NVCC) -shared -Xcompiler -fPIC $(INCLUDES) $(filter %.o %.c,$^) -o $@

bench-peers: $(B)/bench/libkernels.so  ## measure: compare with PyTorch, Triton, Liger (TORCH_PYTHON=path)
	@$(TORCH_PYTHON) bench/peers.py --library $< --json $(B)/bench/peers.jsonl $(PEERS)
	@echo "results: $(B)/bench/peers.jsonl"

# A model folder with random weights, and the transformers model of that shape.
RANDOM ?= 2b
bench-recurrentgemma: $(B)/recurrentgemma $(B)/recurrentgemma-random  ## measure: the engine and transformers (RANDOM=2b|9b|tiny)
	@[ -f build/random-$(RANDOM)/config.json ] || \
	    $(B)/recurrentgemma-random --preset $(RANDOM) build/random-$(RANDOM)
	@mkdir -p $(B)/bench
	@$(TORCH_PYTHON) bench/peers_recurrentgemma.py --program $< --model build/random-$(RANDOM) \
	    --json $(B)/bench/recurrentgemma-$(RANDOM).jsonl $(PEERS)
	@echo "results: $(B)/bench/recurrentgemma-$(RANDOM).jsonl"

# Without a GPU: both programs and transformers, on the CPU.
bench-peers-cpu: $(B)/bench/inference/inference $(B)/recurrentgemma-random  ## measure: inference without a GPU, and transformers (TORCH_PYTHON=path)
	@$(TORCH_PYTHON) bench/peers_cpu.py --program $< --random $(B)/recurrentgemma-random \
	    --json $(B)/bench/peers-cpu.jsonl $(PEERS)
	@echo "results: $(B)/bench/peers-cpu.jsonl"
$(B)/bench/inference/inference: $(B)/objects/bench/inference/inference.o $(TINYLM) \
        $(filter-out $(B)/kernels.o $(WB),$(ENGINE))
	$(LINK)

# --- RecurrentGemma-2B's shape, part by part --------------------------------------------
bench-step: $(B)/bench/step/step  ##+ measure: decode one token of RecurrentGemma-2B's shape, by parts
	@$< --json $(B)/bench/step.jsonl
bench-prefill: $(B)/bench/prefill/prefill  ##+ measure: prefill at RecurrentGemma-2B's shape, by parts
	@$<
bench-loading: $(B)/bench/recurrentgemma/loading  ##+ measure: loading a model folder to the device (MODEL=folder ARGS=f32)
	@$< $(MODEL) $(ARGS)

$(B)/bench/step/step $(B)/bench/prefill/prefill: $(B)/bench/%: $(call objects,bench/kernels.cu) \
        $$(call objects,$$(wildcard bench/$$(*D)/*.c)) $(SOLUTION_OBJECTS) $(WB)
	$(LINK)
$(B)/bench/recurrentgemma/loading: $(B)/objects/bench/recurrentgemma/loading.o $(ENGINE)
	$(LINK)

TEST_PROGRAMS += $(B)/bench/rmsnorm.solution $(B)/bench/inference/inference
.PHONY: bench bench-check bench-programs $(BENCH_OPS:%=bench-%) bench-peers bench-recurrentgemma bench-peers-cpu bench-step bench-prefill bench-loading
