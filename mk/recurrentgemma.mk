# recurrentgemma.mk - the inference engine, its programs and tests; SentencePiece; the demo.
#   make build/cpu/recurrentgemma-example    the engine in a program of your own
#   make build/cpu/recurrentgemma-random     writes model folders with random weights
#   SENTENCEPIECE=/prefix                    its include/ and lib/, if not the system's
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

# --- text: SentencePiece where it is installed --------------------------------------------
SENTENCEPIECE       ?=
SENTENCEPIECE_FLAGS  = $(SENTENCEPIECE:%=-I%/include)
SENTENCEPIECE_LIBS   = $(if $(SENTENCEPIECE),-L$(SENTENCEPIECE)/lib -Xlinker -rpath \
                       -Xlinker $(abspath $(SENTENCEPIECE))/lib) -lsentencepiece
WRAPPER := $(B)/objects/recurrentgemma/text/sentencepiece
TEXT    := $(call objects,$(filter-out %_none.c,$(wildcard recurrentgemma/text/*.c))) $(WRAPPER).o

# Programs that read text take the library's flags from WRAPPER.libs.
TEXT_PROGRAMS := $(addprefix $(B)/,recurrentgemma recurrentgemma-example tests/recurrentgemma/text)
$(B)/tests/recurrentgemma/text: $(B)/objects/tests/recurrentgemma/text.o $(WB)
$(TEXT_PROGRAMS): $(TEXT)
	$(LINK) @$(WRAPPER).libs

# The recipe looks for the library, because set-up may have installed it just now. When that
# changes later, the file is written again and the wrapper is compiled again.
HAVE_SENTENCEPIECE = printf '\#if !__has_include(<sentencepiece_processor.h>)\n\#error\n\#endif\n' | \
    $(CXX) -E -x c++ $(SENTENCEPIECE_FLAGS) - >/dev/null 2>&1
FOUND = $$(if $(HAVE_SENTENCEPIECE); then echo '$(strip $(SENTENCEPIECE_LIBS))'; fi)
ifneq ($(wildcard $(WRAPPER).libs),)
$(shell now="$(FOUND)"; [ "$$(cat $(WRAPPER).libs)" = "$$now" ] || echo "$$now" >$(WRAPPER).libs)
endif

$(WRAPPER).o: $(addprefix recurrentgemma/text/sentencepiece,.cpp .h _none.c) common/file.h \
              $(wildcard $(WRAPPER).libs) | setup
	@mkdir -p $(@D)
	$(Q)echo "$(FOUND)" >$(WRAPPER).libs; if [ -n "$$(cat $(WRAPPER).libs)" ]; then \
	    $(CXX) -std=gnu++17 $(OPT) -g -Wall -Wextra $(SANITIZE) -Icommon $(SENTENCEPIECE_FLAGS) \
	        -c $< -o $@; \
	else \
	    echo "no SentencePiece library: tokenizer.model files cannot be read (make doctor)"; \
	    $(CC) $(CFLAGS) -Icommon -c recurrentgemma/text/sentencepiece_none.c -o $@; \
	fi

# --- tests --------------------------------------------------------------------------------
ENGINE_TESTS := $(addprefix $(B)/tests/recurrentgemma/,engine limits weights)
$(ENGINE_TESTS): $(B)/%: $(B)/objects/%.o $(ENGINE)
	$(LINK)
$(B)/tests/recurrentgemma/limits: private LDLIBS += -Wl,--wrap=cudaMalloc,--wrap=cudaMallocHost

# Criterion programs (tests.mk) that take the whole engine.
$(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_recurrentgemma*.c)): $(ENGINE)

TEST_PROGRAMS += $(TEXT_PROGRAMS) $(ENGINE_TESTS) $(B)/recurrentgemma-random
