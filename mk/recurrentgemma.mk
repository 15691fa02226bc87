# recurrentgemma.mk - the inference engine: its programs, its library, and the tests that link it.
#   make recurrentgemma     build/<backend>/recurrentgemma, the program
#   make build/cpu/recurrentgemma-example        the engine in a program of your own
#   make build/cpu/recurrentgemma-random         model folders with random weights
#   make recurrentgemma-check-transformers MODEL=folder PYTHON=/path/with/transformers
#   make demo [PROMPT="ROMEO:"] [LENGTH=500] [OUT=runs] [DATA=text] [ARGS="--steps 500"]
in_folder = $(addprefix $(RG_FOLDER)/,$(addsuffix .o,$(1)))
$(RG_FOLDER)/%.o: recurrentgemma/%.c | setup
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(INCLUDES) $(BACKEND_INCLUDES) $(DEPS) -c $< -o $@

# A model folder: its config and weights on the way to the device. No kernels.
WEIGHTS_OBJECTS := $(call in_folder,$(addprefix engine/,weights loading files upload))
WEIGHTS_PARTS   := $(WEIGHTS_OBJECTS) $(FILE_OBJECTS) $(B)/common/cuda_check.o $(B)/common/decoder/configure.o $(BACKEND_LIBS)

# The engine: what recurrentgemma.h declares, and all that it needs.
ENGINE_PARTS := $(call in_folder,$(addprefix engine/,engine engine_prefill engine_step)) $(WEIGHTS_OBJECTS) \
                $(DECODER_OBJECTS) $(FILE_OBJECTS) $(OPS_OBJECTS) $(B)/kernels.o $(BACKEND_LIBS)

# --- programs ---------------------------------------------------------------------------

PROGRAM_OBJECTS := $(call in_folder,$(addprefix program/,main options prompts output session generate score talk \
                     bench cost)) $(addprefix $(B)/common/,stop.o ceiling.o)
$(B)/recurrentgemma: $(PROGRAM_OBJECTS) $(TEXT_OBJECTS) $(ENGINE_PARTS)
	$(LINK_TEXT)
recurrentgemma: $(B)/recurrentgemma  ## the inference program: build/<backend>/recurrentgemma --help

$(B)/recurrentgemma-example: $(call in_folder,example) $(TEXT_OBJECTS) $(ENGINE_PARTS)
	$(LINK_TEXT)

# It writes files alone: no kernels, no back end.
$(B)/recurrentgemma-random: $(call in_folder,$(addprefix random/,random random_model)) \
        $(addprefix $(B)/common/,cores.o draw.o file.o flags.o griffin/config.o griffin/config_read.o \
                                 griffin/tensors.o model_shape.o safetensors.o stop.o wb.o)
	$(Q)$(CC) $(SANITIZE) $^ -o $@ -l:libjansson.a -lpthread -lm

TEST_PROGRAMS += $(addprefix $(B)/,recurrentgemma recurrentgemma-example recurrentgemma-random)

# From a fresh clone to two models that write: this program's, and TinyLM's.
demo:  ## trains both small models (or takes the kept ones), both programs write from PROMPT=
	+@BACKEND=$(BACKEND) B=$(B) PYTHON=$(PYTHON) MAKE="$(MAKE)" DATA="$(DATA)" ARGS="$(ARGS)" \
	    OUT="$(if $(filter command environment,$(firstword $(origin OUT))),$(OUT))" tools/demo.sh

# --- tests ------------------------------------------------------------------------------

# tests/recurrentgemma/NAME.c: programs on the engine's C API and what is inside of it.
ENGINE_TESTS := $(addprefix $(B)/tests/recurrentgemma/,engine limits)
$(ENGINE_TESTS): %: %.o $(ENGINE_PARTS)
	$(LINK_PROGRAM) $(WRAP)
$(B)/tests/recurrentgemma/limits: WRAP = -Wl,--wrap=cudaMalloc,--wrap=cudaMallocHost

$(B)/tests/recurrentgemma/weights: $(B)/tests/recurrentgemma/weights.o $(WEIGHTS_PARTS)
	$(LINK_PROGRAM)

TEST_PROGRAMS += $(ENGINE_TESTS) $(B)/tests/recurrentgemma/weights

# Criterion programs, as in tests.mk; these link more than a line `// links:` holds.
ANSWERS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_recurrentgemma*.c))
$(ANSWERS): $(ENGINE_PARTS)

recurrentgemma-check-transformers: $(B)/recurrentgemma  ## compare the engine with transformers on a model folder (MODEL=folder)
	@$(or $(GIVEN_PYTHON),$(PYTHON)) tools/check_recurrentgemma.py $< $(or $(MODEL),tests/recurrentgemma/tiny)

.PHONY: recurrentgemma recurrentgemma-check-transformers demo
