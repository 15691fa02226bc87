# recurrentgemma.mk - the inference engine, its programs and their tests.
#   make recurrentgemma     build/<backend>/recurrentgemma, the program
#   make build/cpu/recurrentgemma-example        the engine in a program of your own
ENGINE_OBJECTS := $(addprefix $(TEXT_FOLDER)/,engine.o engine_read.o engine_step.o)
ENGINE_PARTS   := $(ENGINE_OBJECTS) $(WEIGHTS_OBJECTS) $(DECODER_OBJECTS) $(FILE_OBJECTS) $(OPS_OBJECTS) \
                  $(B)/kernels.o $(BACKEND_LIBS)

# Not $(B)/recurrentgemma/*.o: that is the program's name.
PROGRAM_OBJECTS := $(patsubst %,$(TEXT_FOLDER)/%.o,main options rows output stop session generate score \
                     talk bench cost ceiling)
$(B)/recurrentgemma: $(PROGRAM_OBJECTS) $(TEXT_OBJECTS) $(ENGINE_PARTS)
	$(LINK_TEXT)
recurrentgemma: $(B)/recurrentgemma  ## the inference program: build/<backend>/recurrentgemma --help
TEST_PROGRAMS += $(B)/recurrentgemma

$(B)/recurrentgemma-example: $(TEXT_FOLDER)/example.o $(TEXT_OBJECTS) $(ENGINE_PARTS)
	$(LINK_TEXT)
TEST_PROGRAMS += $(B)/recurrentgemma-example

# tests/recurrentgemma/NAME.c: a program on the engine's C API and what is inside of it.
ENGINE_TESTS := $(addprefix $(B)/tests/recurrentgemma/,engine limits)
$(ENGINE_TESTS): %: %.o $(ENGINE_PARTS)
	$(LINK_PROGRAM) $(WRAP)
$(B)/tests/recurrentgemma/limits: WRAP = -Wl,--wrap=cudaMalloc,--wrap=cudaMallocHost

TEST_PROGRAMS += $(ENGINE_TESTS)

.PHONY: recurrentgemma
