# tinylm.mk - TinyLM: train, evaluate, generate.
#   make tinylm-train [PRESET=laptop|laptop-griffin|baby|baby-griffin|path] [OUT=runs/x] [DATA=text] [ARGS="--steps 500"]
PRESET ?= $(if $(filter cuda,$(BACKEND)),baby,laptop)
OUT    ?= runs/$(notdir $(PRESET))
ARGS   ?=

OPS_OBJECTS    := $(patsubst %.cu,$(B)/%.o,$(wildcard common/ops/*.cu))
FILE_OBJECTS   := $(addprefix $(B)/common/,wb.o file.o safetensors.o tokenizer.o progress.o flags.o \
                              griffin/config.o griffin/config_read.o griffin/tensors.o draw.o cores.o \
                              model_shape.o model_weights.o)
TINYLM_OBJECTS := $(patsubst %.c,$(B)/objects/%.o,$(wildcard tinylm/*.c))
DECODER_OBJECTS := $(addprefix $(B)/common/,cuda_check.o machine.o) $(patsubst %.c,$(B)/%.o,$(wildcard common/decoder/*.c))
LINK_PROGRAM    = $(Q)$(CXX) $(SANITIZE) $^ -o $@ -l:libjansson.a $(LDLIBS)

$(B)/tinylm: $(TINYLM_OBJECTS) $(DECODER_OBJECTS) $(FILE_OBJECTS) $(OPS_OBJECTS) $(B)/kernels.o $(BACKEND_LIBS)
	$(LINK_PROGRAM)

# Not $(B)/tinylm/*.o: that is the program's name.
$(B)/objects/tinylm/%.o: tinylm/%.c | setup
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(INCLUDES) $(BACKEND_INCLUDES) $(DEPS) -c $< -o $@

tinylm-train: $(B)/tinylm  ## train TinyLM (PRESET=laptop|baby OUT=runs/x ARGS="--steps 500")
	@text=$$($(PYTHON) tools/data.py --data "$(DATA)") && text=$$(echo "$$text" | tail -1) && \
	$< train --preset $(PRESET) --out $(OUT) --data "$$text" $(ARGS)
	@$(PYTHON) tools/plot_training.py $(OUT)/train.csv $(OUT)/loss.png
	@echo "--- a sample of $(OUT)/best: make tinylm-generate PROMPT=\"ROMEO:\" writes more"
	@$< generate --model $(OUT)/best --max-new-tokens 300 --quiet

tinylm-eval: $(B)/tinylm  ## validation loss of a checkpoint (OUT=runs/x)
	@text=$$($(PYTHON) tools/data.py --data "$(DATA)") && text=$$(echo "$$text" | tail -1) && \
	$< eval --model $(OUT)/best --data "$$text" $(ARGS)

tinylm-generate: $(B)/tinylm  ## write a text (PROMPT="ROMEO:" OUT=runs/x ARGS="--max-new-tokens 200")
	@$< generate --model $(OUT)/best --prompt "$${PROMPT:-ROMEO:}" $(ARGS)

tinylm-check-transformers: $(B)/tests/tinylm/logits  ## compare a checkpoint with transformers' model
	@$(or $(GIVEN_PYTHON),$(PYTHON)) tools/check_transformers.py $< $(OUT)/best

$(B)/tests/tinylm/%: $(B)/tests/tinylm/%.o $(filter-out %/main.o,$(TINYLM_OBJECTS)) \
                     $(DECODER_OBJECTS) $(FILE_OBJECTS) $(OPS_OBJECTS) $(B)/kernels.o $(BACKEND_LIBS)
	$(LINK_PROGRAM)
# It counts what is asked from the device.
$(B)/tests/tinylm/allocations: private LDLIBS += \
    $(patsubst %,-Xlinker --wrap=%,cudaMalloc cudaMallocAsync cudaMallocManaged)
TEST_PROGRAMS += $(B)/tinylm \
                 $(addprefix $(B)/tests/tinylm/,generation gradients logits allocations loss_scale start)

.PHONY: tinylm-train tinylm-eval tinylm-generate tinylm-check-transformers
