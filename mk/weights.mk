# weights.mk - model folders: their config and weights.
LOADS           := $(FILE_OBJECTS) $(B)/common/cuda_check.o # no kernels
WEIGHTS_OBJECTS := $(addprefix $(B)/objects/recurrentgemma/,weights.o loading.o files.o upload.o)

$(B)/tests/recurrentgemma/weights: $(B)/tests/recurrentgemma/weights.o $(WEIGHTS_OBJECTS) \
        $(LOADS) $(BACKEND_LIBS)
	$(LINK_PROGRAM)
TEST_PROGRAMS += $(B)/tests/recurrentgemma/weights

RANDOM_OBJECTS := $(addprefix $(B)/objects/recurrentgemma/,random.o random_model.o stop.o) \
    $(addprefix $(B)/common/,cores.o draw.o file.o flags.o rg_config.o rg_config_read.o rg_tensors.o safetensors.o wb.o)

$(B)/recurrentgemma-random: $(RANDOM_OBJECTS)
	$(Q)$(CC) $(SANITIZE) $^ -o $@ -l:libjansson.a -lpthread -lm
TEST_PROGRAMS += $(B)/recurrentgemma-random

# make bench-loading MODEL=FOLDER [ARGS=f32]: GB/s from the disk, the page cache, the loader
bench-loading: $(B)/bench/recurrentgemma/loading  ## how fast a model folder gets to the device (MODEL=DIR)
	@$< $(MODEL) $(ARGS)

$(B)/bench/recurrentgemma/loading: $(B)/bench/recurrentgemma/loading.o $(WEIGHTS_OBJECTS) \
        $(LOADS) $(BACKEND_LIBS)
	$(LINK_PROGRAM)
.PHONY: bench-loading
