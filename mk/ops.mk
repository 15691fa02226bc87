# ops.mk - the given operations: their objects, the test against the reference.
OPS_OBJ  := $(patsubst %.cu,$(B)/%.o,$(wildcard common/ops/*.cu))
OPS_DATA := build/host/ops-data

# the attention takes lab 04's softmax, here from solutions/
$(B)/tests/ops/ops: $(addprefix $(B)/tests/ops/,ops.o adapters.o state.o) $(OPS_OBJ) \
        $(B)/solutions/lab04_softmax/softmax.o \
        $(addprefix $(B)/common/,wb.o safetensors.o file.o) $(BACKEND_LIBS)
	$(Q)$(CXX) $(SANITIZE) $^ -o $@ -l:libjansson.a $(LDLIBS)

# Only the data need Python: carried to a card, they stay as they are.
$(OPS_DATA)/names: tests/ops/cases tests/ops/make_data.py $(wildcard reference/*.py) | setup
	@$(PYTHON) tests/ops/make_data.py $(OPS_DATA)

ops-data: $(OPS_DATA)/names  ## expected results of the given ops, for a machine without Python
.PHONY: ops-data

TEST_PROGRAMS += $(B)/tests/ops/ops $(OPS_DATA)/names
