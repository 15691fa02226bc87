# grader.mk - the program that ./grade starts: all of grader/ except the harness.
GRADER_PARTS := $(filter-out harness,$(basename $(notdir $(wildcard grader/*.c))))
GRADER       := $(B)/grader/grade
GRADER_OBJS  := $(GRADER_PARTS:%=$(B)/grader/%.o) \
                $(addprefix $(B)/common/,safetensors.o file.o sha256.o wb.o)

$(GRADER): $(GRADER_OBJS)
	$(Q)$(CC) $(SANITIZE) $^ -o $@ -l:libjansson.a -lm

$(LABS): $(GRADER)

grader: $(GRADER)  ## the grader alone (make lab03 builds it too)

.PHONY: grader
TEST_PROGRAMS += $(GRADER) $(HARNESS) $(LABS:%=$(B)/grader/adapters/%.o) $(BACKEND_LIBS)
