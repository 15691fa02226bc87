# tinylm.mk - TinyLM: train, evaluate, generate.
#   PRESET=laptop|laptop-griffin|baby|baby-griffin|path   OUT=runs/x   DATA=text
#   ARGS="--steps 500"   PROMPT="ROMEO:"   RANKS=4 (processes that train together)
PRESET ?= $(if $(filter cuda,$(BACKEND)),baby,laptop)
OUT    ?= runs/$(notdir $(PRESET))
ARGS   ?=

# Several ranks, where Open MPI is installed, and NCCL for GPUs.
ENGINES := $(B)/objects/tinylm/engines
$(ENGINES).flags: FORCE | setup
	@BACKEND=$(BACKEND) CUDA_HOME="$(CUDA_HOME)" PYTHON="$(PYTHON)" tools/mpi.sh find $(ENGINES)
$(ENGINES).libs: $(ENGINES).flags
$(call objects,tinylm/ranks.c tinylm/collectives.c): $(ENGINES).flags
$(call objects,tinylm/ranks.c tinylm/collectives.c): private CFLAGS += @$(ENGINES).flags

TINYLM := $(call objects,$(filter-out %/main.c,$(wildcard tinylm/*.c))) $(B)/kernels.o \
          $(ENGINES).libs $(WB)

$(B)/tinylm: $(B)/objects/tinylm/main.o $(TINYLM)
	$(LINK)

find_text = text=$$($(PYTHON) tools/data.py --data "$(DATA)") && text=$$(echo "$$text" | tail -1)

# Run again, it starts again: the last run moves to $(OUT)/previous.
REPLACE = $(if $(findstring --resume,$(ARGS)),,--overwrite)

start_ranks = $(if $(filter-out 1,$(RANKS)),tools/mpi.sh run $(RANKS))

tinylm-train: $(B)/tinylm  ## models: train TinyLM (PRESET=laptop|baby OUT=runs/x ARGS="--steps 500" RANKS=4)
	@$(find_text) && $(start_ranks) $< train --preset $(PRESET) --out $(OUT) --data "$$text" $(REPLACE) $(ARGS)
	@$(PYTHON) tools/plot_training.py $(OUT)/train.csv $(OUT)/loss.png
	@echo "--- a sample of $(OUT)/best: make tinylm-generate PROMPT=\"ROMEO:\" writes more"
	@$< generate --model $(OUT)/best --max-new-tokens 300 --quiet

tinylm-eval: $(B)/tinylm  ##+ models: validation loss of a checkpoint (OUT=runs/x)
	@$(find_text) && $< eval --model $(OUT)/best --data "$$text" $(ARGS)

tinylm-generate: $(B)/tinylm  ## models: generate text (PROMPT="ROMEO:" OUT=runs/x ARGS="--max-new-tokens 200")
	@$< generate --model $(OUT)/best $${PROMPT:+--prompt "$$PROMPT"} $(ARGS)

tinylm-check-transformers: $(B)/tests/tinylm/logits  ##+ develop: compare a checkpoint with transformers
	@$(or $(GIVEN_PYTHON),$(PYTHON)) tools/check_transformers.py $< $(OUT)/best

$(B)/tests/tinylm/%: $(B)/objects/tests/tinylm/%.o $(TINYLM)
	$(LINK)
# It counts the calls that allocate device memory.
$(B)/tests/tinylm/allocations: private LDLIBS += \
    $(patsubst %,-Xlinker --wrap=%,cudaMalloc cudaMallocAsync cudaMallocManaged)
$(B)/tests/tinylm/run_folder: private LDLIBS += -Xlinker --wrap=flock
TEST_PROGRAMS += $(B)/tinylm $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/tinylm/*.c))

.PHONY: tinylm-train tinylm-eval tinylm-generate tinylm-check-transformers
