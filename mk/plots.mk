# plots.mk - what the README shows, each plot from a CSV by one command.
#   make plot-kv          tokens per second over the sequence length, with and without a cache
#   make plot-memory      bytes of the caches, as allocated and by formula
#   make plot-ablation    TinyLM with each rung of lab 03
#   make plot-training    loss curves of runs: RUNS="runs/laptop runs/laptop-griffin"
# CSVs go to RESULTS=bench/results/<date>-<machine>, with the plots and commands.txt, the
# commands that measured. PLOTS=quick takes seconds, for a test; DRAW=0 only measures, on
# a machine without matplotlib.
MACHINE_NAME = $(shell { [ $(BACKEND) = cpu ] && sed -n 's/^model name[^:]*: //p' /proc/cpuinfo || \
    nvidia-smi --query-gpu=name --format=csv,noheader; } 2>/dev/null | head -1 | tr -d ',"')
MACHINE = $(shell echo '$(MACHINE_NAME)' | tr 'A-Z ' 'a-z-' | \
    sed 's/([a-z]*)//g; s/nvidia-//; s/@.*//; s/[^a-z0-9-]//g; s/--*/-/g; s/-$$//')
RESULTS ?= bench/results/$(shell date -u +%F)-$(or $(MACHINE),unknown)
PLOTS   ?= full
PLOT     = MPLCONFIGDIR=$(CURDIR)/build/host $(PYTHON)

# The models are sized so that a plot takes about two minutes.
PRESETS_cpu  := laptop laptop-griffin
PRESETS_cuda := baby baby-griffin
PLOT_PRESETS ?= $(filter $(notdir $(wildcard tinylm/presets/*)),$(PRESETS_$(BACKEND)))
KV_ARGS       = $(if $(filter quick,$(PLOTS)),--longest 64 --runs 3)
ABLATION_ARGS = --runs 5 $(if $(filter quick,$(PLOTS)),--batch 1)
ROUNDS        = $(if $(filter quick,$(PLOTS)),1,2)# the rungs alternate

MEASURES := $(addprefix $(B)/bench/tinylm/,kv memory attention step decode scaling bandwidth)
ABLATION := $(addprefix $(B)/bench/tinylm/ablation.,naive fused residual)
PARTS    := $(B)/objects/bench/tinylm/tools.o $(filter-out $(B)/kernels.o,$(TINYLM))

$(MEASURES): $(B)/%: $(B)/objects/%.o $(PARTS) $(B)/kernels.o
	$(LINK)

# It counts calls of the runtime.
$(B)/bench/tinylm/decode: private LDLIBS += $(patsubst %,-Xlinker --wrap=%, \
    cudaGraphInstantiateWithFlags cudaGraphLaunch cudaStreamSynchronize cudaMemcpyAsync \
    cudaMemcpy2DAsync)

# Other kernels for lab 03: its functions in kernels.o become weak, and others replace
# them.
WEAKEN = @mkdir -p $(@D); objcopy -w --weaken-symbol='$(1)' $< $@
$(B)/bench/tinylm/weak_kernels.o: $(B)/kernels.o
	$(call WEAKEN,rmsnorm_*)
$(B)/bench/tinylm/weak_residual.o: $(B)/kernels.o
	$(call WEAKEN,rmsnorm_residual_*)
$(B)/bench/tinylm/naive.o: $(B)/objects/solutions/lab03_rmsnorm/ladder/01_naive.o
	$(call WEAKEN,rmsnorm_residual_*)
SEPARATE := $(B)/objects/bench/tinylm/separate.o
$(B)/bench/tinylm/ablation.naive: $(SEPARATE) $(addprefix $(B)/bench/tinylm/,naive.o weak_kernels.o)
$(B)/bench/tinylm/ablation.fused: $(SEPARATE) $(B)/bench/tinylm/weak_residual.o
$(B)/bench/tinylm/ablation.residual: $(B)/kernels.o
$(ABLATION): $(B)/objects/bench/tinylm/ablation.o $(PARTS)
	$(LINK)

# $(call measure,name,options,programs,rounds)
define measure
@tools/measure.sh $(RESULTS)/$(1).csv $(4) "$(PLOT_PRESETS)" "$(3)" $(2)
@$(if $(filter 0,$(DRAW)),,$(PLOT) tools/plot_$(1).py $(RESULTS)/$(1).csv $(RESULTS)/$(1).png)
endef

plot-kv: $(B)/bench/tinylm/kv  ##+ measure: tokens/s over the sequence length, with and without a cache
	$(call measure,kv,$(KV_ARGS),$<,1)
plot-memory: $(B)/bench/tinylm/memory  ##+ measure: bytes of the caches over the sequence length
	$(call measure,memory,,$<,1)
plot-ablation: $(ABLATION)  ##+ measure: TinyLM with each rung of lab 03, eager and as a graph
	$(call measure,ablation,$(ABLATION_ARGS),$(ABLATION),$(ROUNDS))
plots: plot-kv plot-memory plot-ablation  ## measure: the plots that need no training

RUNS ?= $(wildcard $(addprefix runs/,$(PLOT_PRESETS)))
plot-training:  ##+ measure: loss curves of RUNS="runs/laptop runs/laptop-griffin" in one plot
	@$(if $(RUNS),,echo "no runs: make tinylm-train PRESET=... first, or give RUNS=folder"; exit 1)
	@mkdir -p $(RESULTS)
	@for run in $(RUNS); do \
	    sed '1s/^/machine,/; 2,$$s/^/$(MACHINE_NAME),/' $$run/train.csv \
	        > $(RESULTS)/$$(basename $$run).csv || exit 1; done
	@$(PLOT) tools/plot_training.py \
	    $(foreach run,$(RUNS),$(RESULTS)/$(notdir $(run:/=)).csv) $(RESULTS)/training.png

bench-tinylm-attention: $(B)/bench/tinylm/attention  ##+ measure: a training step with lab 05 and with GEMMs (PRESET= RUNS_EACH=20)
	@rm -f $<.csv; $< --csv $<.csv --preset $(PRESET) --runs $(or $(RUNS_EACH),20) $(ARGS)

bench-tinylm-step: $(B)/bench/tinylm/step  ##+ measure: a training step, compared with PyTorch on the CPU (PRESET= TORCH_PYTHON=)
	@$(PYTHON) bench/peers_tinylm.py --program $< --torch "$(TORCH_PYTHON)" \
	    --json $(B)/bench/tinylm-step.jsonl --preset $(PRESET) $(ARGS)

# On the CPU back end each rank has its share of the cores.
SCALING_cpu  := --ranks "$(or $(RANKS),1 2)" --weak laptop:12 --strong laptop:12
SCALING_cuda := --ranks "$(or $(RANKS),1 2 4)"
bench-scaling: $(B)/bench/tinylm/scaling  ##+ measure: training over the number of ranks (RANKS="1 2 4" TORCH_PYTHON=)
	@mkdir -p $(RESULTS)
	@$(PYTHON) bench/scaling.py --program $< --torch "$(if $(filter file,$(origin TORCH_PYTHON)),,$(TORCH_PYTHON))" \
	    $(SCALING_$(BACKEND)) --json $(RESULTS)/scaling.jsonl $(ARGS)
	@$(if $(filter 0,$(DRAW)),,$(PLOT) tools/plot_scaling.py $(RESULTS)/scaling.jsonl $(RESULTS)/scaling.png)
bench-all-reduce: $(B)/bench/tinylm/bandwidth  ##+ measure: time and bus bandwidth of an all-reduce over its bytes (RANKS=2)
	@tools/mpi.sh run $(or $(RANKS),2) $< $(ARGS)

# One sequence at a time; counts are the same on every machine (tests/tinylm/suite_counts.sh).
bench-tinylm-decode: $(B)/bench/tinylm/decode  ##+ measure: what a token costs: kernels, graphs, copies, bytes, time
	@rm -f $<.csv; for preset in $(or $(PLOT_PRESETS),laptop); do \
	    $< --csv $<.csv --preset $$preset $(ARGS) || exit 1; done

plot-programs: $(MEASURES) $(ABLATION)

TEST_PROGRAMS += $(MEASURES) $(ABLATION)
.PHONY: plots plot-programs plot-kv plot-memory plot-ablation plot-training bench-tinylm-attention \
        bench-tinylm-step bench-tinylm-decode bench-scaling bench-all-reduce
