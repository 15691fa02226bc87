# plots.mk - what the README shows, each from a CSV by one command.
#   make plot-kv          tokens a second over the length of a text, with and without a cache
#   make plot-memory      what the caches take, as handed out and by formula
#   make plot-ablation    lab 03's rungs in TinyLM as a whole
#   make plot-training    loss curves of runs: RUNS="runs/laptop runs/laptop-griffin"
# CSVs go to RESULTS=bench/results/<date>-<machine>, plots beside them, and the commands that
# measured into commands.txt there. PLOTS=quick takes seconds, to see that it works; DRAW=0
# only measures, on a machine without matplotlib.
MACHINE_NAME = $(shell { [ $(BACKEND) = cpu ] && sed -n 's/^model name[^:]*: //p' /proc/cpuinfo || \
    nvidia-smi --query-gpu=name --format=csv,noheader; } 2>/dev/null | head -1 | tr -d ',"')
MACHINE = $(shell echo '$(MACHINE_NAME)' | tr 'A-Z ' 'a-z-' | \
    sed 's/([a-z]*)//g; s/nvidia-//; s/@.*//; s/[^a-z0-9-]//g; s/--*/-/g; s/-$$//')
RESULTS ?= bench/results/$(shell date -u +%F)-$(or $(MACHINE),unknown)
PLOTS   ?= full
PLOT     = MPLCONFIGDIR=$(CURDIR)/build/host $(PYTHON)

# The models: as long as a plot takes about two minutes.
PRESETS_cpu  := laptop laptop-griffin
PRESETS_cuda := baby baby-griffin
PLOT_PRESETS ?= $(filter $(notdir $(wildcard tinylm/presets/*)),$(PRESETS_$(BACKEND)))
KV_ARGS       = $(if $(filter quick,$(PLOTS)),--longest 64 --runs 3)
ABLATION_ARGS = --runs 5 $(if $(filter quick,$(PLOTS)),--batch 1)
ROUNDS        = $(if $(filter quick,$(PLOTS)),1,1 2)# the rungs take turns

MEASURES := $(addprefix $(B)/bench/tinylm/,kv memory attention)
ABLATION := $(addprefix $(B)/bench/tinylm/ablation.,naive fused residual)
PARTS    := $(B)/bench/tinylm/tools.o $(filter-out %/main.o,$(TINYLM_OBJECTS)) \
            $(DECODER_OBJECTS) $(FILE_OBJECTS) $(OPS_OBJECTS)

$(MEASURES): %: %.o $(PARTS) $(B)/kernels.o $(BACKEND_LIBS)
	$(LINK_PROGRAM)

# Lab 03 in other hands: its functions in kernels.o become weak, and others come before them.
$(B)/bench/tinylm/weak_kernels.o: $(B)/kernels.o
	$(Q)objcopy -w --weaken-symbol='rmsnorm_*' $< $@
$(B)/bench/tinylm/weak_residual.o: $(B)/kernels.o
	$(Q)objcopy -w --weaken-symbol='rmsnorm_residual_*' $< $@
$(B)/bench/tinylm/naive.o: $(B)/solutions/lab03_rmsnorm/ladder/01_naive.o
	$(Q)objcopy -w --weaken-symbol='rmsnorm_residual_*' $< $@
ABLATION_PARTS := $(B)/bench/tinylm/ablation.o $(PARTS) $(BACKEND_LIBS)
$(B)/bench/tinylm/ablation.naive: \
    $(addprefix $(B)/bench/tinylm/,separate.o naive.o weak_kernels.o) $(ABLATION_PARTS)
	$(LINK_PROGRAM)
$(B)/bench/tinylm/ablation.fused: \
    $(addprefix $(B)/bench/tinylm/,separate.o weak_residual.o) $(ABLATION_PARTS)
	$(LINK_PROGRAM)
$(B)/bench/tinylm/ablation.residual: $(B)/kernels.o $(ABLATION_PARTS)
	$(LINK_PROGRAM)

# $(call measure,name,arguments,programs,rounds): a new CSV, to which every program adds its
# lines for every preset, in every round
define measure
	@mkdir -p $(RESULTS) && rm -f $(RESULTS)/$(1).csv && touch $(RESULTS)/commands.txt && \
	    sed -i "\,/$(1).csv ,d" $(RESULTS)/commands.txt
	@for round in $(4); do for preset in $(PLOT_PRESETS); do for program in $(3); do \
	    line="$$program --csv $(RESULTS)/$(1).csv --preset $$preset $(2)"; \
	    [ $$round != 1 ] || echo "$$line" >> $(RESULTS)/commands.txt; $$line || exit 1; \
	done; done; done
	@$(if $(filter 0,$(DRAW)),,$(PLOT) tools/plot_$(1).py $(RESULTS)/$(1).csv $(RESULTS)/$(1).png)
endef

plot-kv: $(B)/bench/tinylm/kv  ## tokens/s with and without a cache, over the length of the text
	$(call measure,kv,$(KV_ARGS),$<,1)
plot-memory: $(B)/bench/tinylm/memory  ## bytes of the caches over the length, beside the formula
	$(call measure,memory,,$<,1)
plot-ablation: $(ABLATION)  ## lab 03's rungs in TinyLM as a whole, eager and as a graph
	$(call measure,ablation,$(ABLATION_ARGS),$(ABLATION),$(ROUNDS))

bench-tinylm-attention: $(B)/bench/tinylm/attention  ## a step with lab 05 and with its rung zero: PRESET= RUNS_EACH=20
	@rm -f $<.csv; $< --csv $<.csv --preset $(PRESET) --runs $(or $(RUNS_EACH),20) $(ARGS)
.PHONY: bench-tinylm-attention

RUNS ?= $(wildcard $(addprefix runs/,$(PLOT_PRESETS)))
plot-training:  ## loss curves of RUNS="runs/laptop runs/laptop-griffin" in one plot
	@$(if $(RUNS),,echo "no runs: make tinylm-train PRESET=... first, or say RUNS=folder"; exit 1)
	@mkdir -p $(RESULTS)
	@for run in $(RUNS); do \
	    sed '1s/^/machine,/; 2,$$s/^/$(MACHINE_NAME),/' $$run/train.csv \
	        > $(RESULTS)/$$(basename $$run).csv || exit 1; done
	@$(PLOT) tools/plot_training.py \
	    $(foreach run,$(RUNS),$(RESULTS)/$(notdir $(run:/=)).csv) $(RESULTS)/training.png

plots: plot-kv plot-memory plot-ablation  ## all that this machine can measure at once

plot-programs: $(MEASURES) $(ABLATION)

TEST_PROGRAMS += $(MEASURES) $(ABLATION)
.PHONY: plots plot-programs plot-kv plot-memory plot-ablation plot-training
