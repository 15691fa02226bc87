# recurrentgemma.mk - the inference engine, its programs and tests; SentencePiece; the
# demo.
#   make build/cpu/recurrentgemma-example    the engine in a program of your own
#   make build/cpu/recurrentgemma-random     writes model folders with random weights
#   SENTENCEPIECE=/prefix                    its include/ and lib/, if not the system's; none: without
ENGINE := $(call objects,$(wildcard recurrentgemma/engine/*.c)) $(B)/kernels.o $(WB)

$(B)/recurrentgemma: $(call objects,$(wildcard recurrentgemma/program/*.c)) $(ENGINE)
recurrentgemma: $(B)/recurrentgemma  ## models: build build/<backend>/recurrentgemma, the inference program

$(B)/recurrentgemma-example: $(call objects,recurrentgemma/example.c) $(ENGINE)

$(B)/recurrentgemma-random: $(call objects,$(wildcard recurrentgemma/random/*.c)) $(WB)
	$(LINK)

recurrentgemma-check-transformers: $(B)/recurrentgemma  ##+ develop: compare the engine with transformers (MODEL=folder)
	@$(or $(GIVEN_PYTHON),$(PYTHON)) tools/check_recurrentgemma.py $< $(or $(MODEL),tests/recurrentgemma/tiny)

demo:  ## models: train both small models, then generate with both (PROMPT= LENGTH= OUT= DATA=)
	+@B=$(B) PYTHON=$(PYTHON) MAKE="$(MAKE)" DATA="$(DATA)" ARGS="$(ARGS)" \
	    OUT="$(if $(filter command environment,$(firstword $(origin OUT))),$(OUT))" tools/demo.sh

.PHONY: recurrentgemma recurrentgemma-check-transformers demo

# --- text: SentencePiece where it is installed ------------------------------------------
WRAPPER := $(B)/objects/recurrentgemma/text/sentencepiece
TEXT    := $(call objects,$(filter-out %_none.c,$(wildcard recurrentgemma/text/*.c))) $(WRAPPER).o
FIND    := CC="$(CC)" CXX="$(CXX)" SENTENCEPIECE=$(SENTENCEPIECE) tools/sentencepiece.sh

# The recipe looks for the library, because set-up may have installed it just now. When
# that changes later, WRAPPER.libs changes.
ifneq ($(wildcard $(WRAPPER).libs),)
$(shell $(FIND) find $(WRAPPER))
endif
$(WRAPPER).o: $(wildcard recurrentgemma/text/sentencepiece*) common/file.h tools/sentencepiece.sh \
              $(wildcard $(WRAPPER).libs) | setup
	@mkdir -p $(@D)
	$(Q)CFLAGS="$(CFLAGS) -Icommon" CXXFLAGS="-std=gnu++17 $(OPT) -g -Wall -Wextra $(SANITIZE) -Icommon" \
	    $(FIND) compile $(WRAPPER)

# Programs that read text take the library's flags from WRAPPER.libs.
TEXT_PROGRAMS := $(addprefix $(B)/,recurrentgemma recurrentgemma-example tests/recurrentgemma/text)
$(B)/tests/recurrentgemma/text: $(B)/objects/tests/recurrentgemma/text.o $(WB)
$(TEXT_PROGRAMS): $(TEXT)
	$(LINK) @$(WRAPPER).libs

# --- tests ------------------------------------------------------------------------------
ENGINE_TESTS := $(addprefix $(B)/tests/recurrentgemma/,engine limits weights)
$(ENGINE_TESTS): $(B)/%: $(B)/objects/%.o $(ENGINE)
	$(LINK)
$(B)/tests/recurrentgemma/limits: private LDLIBS += -Wl,--wrap=cudaMalloc,--wrap=cudaMallocHost

# Criterion programs (tests.mk) that take the whole engine.
$(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_recurrentgemma*.c)): $(ENGINE)

TEST_PROGRAMS += $(TEXT_PROGRAMS) $(ENGINE_TESTS) $(B)/recurrentgemma-random
