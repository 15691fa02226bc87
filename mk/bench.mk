# bench.mk - kernels timed against the copy speed of the machine, in the same run.
#   make bench-rmsnorm         the solution and every rung of its ladder
#   make bench-rmsnorm CODE=solution         one of them
#   make bench-peers           the solutions beside PyTorch's kernels
#   make bench-recurrentgemma  the engine beside transformers
# A lab takes part by bench/OP.c (rows: see bench/kernels.h). $(B)/bench/OP.solution and
# $(B)/bench/OP.01_naive ... are the programs, $(B)/bench/OP.jsonl has the figures.
BENCH_OPS := $(basename $(notdir $(wildcard bench/*.c)))
CODE      ?= *

# A rung need not define every function: the rows of the others say WB_TODO.
bench_lab      = $(notdir $(firstword $(wildcard labs/lab*_$(1))))
bench_rungs    = $(sort $(wildcard solutions/lab*_$(1)/ladder/*.cu))
bench_programs = $(foreach s,$(call bench_rungs,$(1)),$(B)/bench/$(1).$(basename $(notdir $(s)))) \
                 $(B)/bench/$(1).solution

define bench_program  # (op, program, object)
$(2): $(3) $(B)/bench/$(1).o $(B)/bench/$(1).stubs.o $(B)/bench/kernels.o \
      $(B)/common/wb.o $(BACKEND_LIBS)
	$$(Q)$$(CXX) $$(SANITIZE) $$^ -o $$@ $$(LDLIBS)
endef
define bench_rules  # (op)
$(foreach s,$(call bench_rungs,$(1)),
$(call bench_program,$(1),$(B)/bench/$(1).$(basename $(notdir $(s))),$(B)/$(s:.cu=.o)))
$(call bench_program,$(1),$(B)/bench/$(1).solution,$(B)/solutions/$(call bench_lab,$(1)).o)
$(B)/bench/$(1).stubs.o: $(wildcard labs/lab*_$(1)/*.h) tools/kernels.py tools/labkit.py | setup
	@mkdir -p $$(@D)
	$$(Q)$$(KERNELS) stubs $$(@:.o=.c) $(call bench_lab,$(1))
	$$(Q)$$(CC) -c $$(@:.o=.c) -o $$@
bench-$(1): $(filter $(B)/bench/$(1).$(subst *,%,$(CODE)),$(call bench_programs,$(1)))
	@rm -f $(B)/bench/$(1).jsonl
	@for program in $$^; do $$$$program --json $(B)/bench/$(1).jsonl || exit 1; done
	@echo "figures: $(B)/bench/$(1).jsonl"
bench: bench-$(1)
.PHONY: bench-$(1)
endef
$(foreach op,$(BENCH_OPS),$(eval $(call bench_rules,$(op))))

TEST_PROGRAMS += $(B)/bench/rmsnorm.solution

bench-table-%: ## the figures of make bench-% on a card into the lab's guide
	@$(PYTHON) bench/table.py $(wildcard labs/lab*_$*/README.md) $(B)/bench/$*.jsonl

# Ours beside PyTorch's kernels, which need a Python with torch.
TORCH_PYTHON ?= python3
PEERS        ?=
$(B)/bench/libkernels.so: $(SOLUTION_FOLDERS:%=$(B)/solutions/%.o) common/wb.c common/wb.h
	@$(if $(filter cuda,$(BACKEND)),,echo "$@ is for a card: make BACKEND=cuda ..."; exit 1)
	@$(if $(NVCC),,echo "$@ needs nvcc: install the CUDA toolkit or say NVCC=path"; exit 1)
	@mkdir -p $(@D)
	$(Q)$(NVCC) -shared -Xcompiler -fPIC $(INCLUDES) $(filter %.o %.c,$^) -o $@

bench-peers: $(B)/bench/libkernels.so ## ours beside PyTorch, Triton, Liger: TORCH_PYTHON=, PEERS="--only scan,rglru"
	@$(TORCH_PYTHON) bench/peers.py --library $< --json $(B)/bench/peers.jsonl $(PEERS)
	@echo "figures: $(B)/bench/peers.jsonl"

# A model folder with random weights, and transformers' model of that shape beside ours.
RANDOM ?= 2b
bench-recurrentgemma: $(B)/recurrentgemma $(B)/recurrentgemma-random  ## ours beside transformers, RANDOM=2b|9b|tiny
	@[ -f build/random-$(RANDOM)/config.json ] || \
	    $(B)/recurrentgemma-random --preset $(RANDOM) build/random-$(RANDOM)
	@mkdir -p $(B)/bench
	@$(TORCH_PYTHON) bench/peers_recurrentgemma.py --program $< --model build/random-$(RANDOM) \
	    --json $(B)/bench/recurrentgemma-$(RANDOM).jsonl $(PEERS)
	@echo "figures: $(B)/bench/recurrentgemma-$(RANDOM).jsonl"

# A model folder on its way to the device: GB/s from the disk, the page cache, the loader.
$(B)/bench/recurrentgemma/loading: $(B)/bench/recurrentgemma/loading.o $(WEIGHTS_PARTS)
	$(LINK_PROGRAM)
bench-loading: $(B)/bench/recurrentgemma/loading  ## how fast a model folder gets to the device (MODEL=DIR ARGS=f32)
	@$< $(MODEL) $(ARGS)

bench: ## every benchmark of kernels; one: make bench-rmsnorm [CODE=solution]

.PHONY: bench bench-peers bench-recurrentgemma bench-loading

# The step of RecurrentGemma-2B, all labs' kernels and the given ones together.
$(B)/bench/step/step.solution: $(addprefix $(B)/bench/,step/step.o kernels.o) $(OPS_OBJECTS) \
        $(B)/solutions/lab04_softmax/softmax.o \
        $(addprefix $(B)/solutions/,lab06_rglru.o lab07_kvcache.o) $(B)/common/wb.o \
        $(BACKEND_LIBS)
	$(Q)$(CXX) $(SANITIZE) $^ -o $@ $(LDLIBS)
bench-step: $(B)/bench/step/step.solution ## a token of RecurrentGemma-2B's shape, by its parts
	@$< --json $(B)/bench/step.jsonl
.PHONY: bench-step

# Reading a prompt at the same shape, with what each kernel finds in the caches there.
$(B)/bench/prefill/prefill.solution: $(addprefix $(B)/bench/,prefill/prefill.o prefill/parts.o kernels.o) \
        $(addprefix $(B)/common/,ceiling.o cuda_check.o machine.o wb.o) \
        $(OPS_OBJECTS) $(SOLUTION_FOLDERS:%=$(B)/solutions/%.o) $(BACKEND_LIBS)
	$(Q)$(CXX) $(SANITIZE) $^ -o $@ $(LDLIBS)
bench-prefill: $(B)/bench/prefill/prefill.solution ## a prompt of RecurrentGemma-2B's shape, by its parts
	@$<
.PHONY: bench-prefill
