# weights.mk - model folders: their config and weights.
WEIGHTS_OBJECTS := $(addprefix $(B)/objects/recurrentgemma/,weights.o files.o upload.o)

$(B)/tests/recurrentgemma/weights: $(B)/tests/recurrentgemma/weights.o $(WEIGHTS_OBJECTS) \
        $(DECODER_OBJECTS) $(FILE_OBJECTS) $(OPS_OBJECTS) $(B)/kernels.o $(BACKEND_LIBS)
	$(LINK_PROGRAM)
TEST_PROGRAMS += $(B)/tests/recurrentgemma/weights
