# toolchain.mk - which back end, which compilers, and how a source becomes an object.
NVCC      ?= $(shell command -v nvcc)
CUDA_HOME ?= $(if $(NVCC),$(abspath $(dir $(realpath $(NVCC)))..))
ifeq ($(origin BACKEND),undefined)  # cuda only where nvcc is there and a device answers
BACKEND := $(if $(and $(NVCC),$(shell nvidia-smi -L 2>/dev/null)),cuda,cpu)
endif
ifeq ($(filter $(BACKEND),cpu cuda),)
$(error BACKEND=$(BACKEND) is not known: say BACKEND=cpu or BACKEND=cuda)
endif
BUILD ?= build/$(BACKEND)
B     := $(BUILD)
Q     := $(if $(V),,@)

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
OPT      ?= -O2
SANITIZE ?=
INCLUDES := -Icommon -Icommon/ops -Icommon/decoder -Irecurrentgemma $(addprefix -I,$(wildcard labs/lab*))
CFLAGS   := -std=gnu11 $(OPT) -g -Wall -Wextra $(SANITIZE)
DEPS      = -MMD -MP -MF $(@:.o=.d) -MT $@

# --- CPU back end: translate <<<>>> and __shared__, then the host's own compiler -----------
# -fno-strict-aliasing: float4 views of float arrays are normal in CUDA.
# -fno-gnu-unique: labs with equal template names must stay apart (see mk/labs.mk).
# -fstack-clash-protection: a large local array meets the guard page of a thread's stack.
# Never -ffast-math: masks are -INFINITY, and it compiles every NaN check away.
CPU_TARGET ?= native
TRANSLATE := build/host/translate
CPU_FLAGS := -std=gnu++17 $(OPT) -g -march=$(CPU_TARGET) -fno-strict-aliasing -fno-math-errno \
             -fno-trapping-math -fstack-clash-protection -Wno-unknown-pragmas -Wno-attributes $(SANITIZE) \
             -Icommon/cpu/include $(if $(findstring clang,$(CXX)),,-fno-gnu-unique)
ifeq ($(BACKEND),cpu)
BACKEND_INCLUDES := -Icommon/cpu/include
BACKEND_LIBS      = $(B)/libwbcpu.a
LDLIBS            = -lstdc++ -lpthread -ldl -lm
define compile_cu  # $(call compile_cu,source,object[,|| what to do when it does not compile])
@mkdir -p $(dir $(2))
$(Q)$(TRANSLATE) $(1) $(dir $(2)) $(INCLUDES) -d $(2) && \
    $(CXX) $(CPU_FLAGS) $(INCLUDES) -iquote $(dir $(1)) -include cuda_runtime.h \
    -MMD -MP -MF $(2:.o=.d) -MT $(2) -x c++ -c $(dir $(2))$(notdir $(1)).cpp -o $(2) $(3)
endef
CU_TOOLS := $(TRANSLATE)
else
# --- CUDA: nvcc for the card found, else sm_80 and sm_90 with PTX for later ones ------------
# -fPIC: the same objects become programs and the library of mk/bench.mk.
CARD := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -d .)
ARCH ?= $(if $(CARD),-arch=sm_$(CARD),-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90])
LINEINFO := -lineinfo
BACKEND_INCLUDES := -isystem $(CUDA_HOME)/include
BACKEND_LIBS     :=
LDLIBS            = -L$(CUDA_HOME)/lib64 -lcudart_static -lcublas -lcublasLt -lstdc++ -lpthread -ldl -lrt -lm
define compile_cu
@mkdir -p $(dir $(2))
$(Q)$(NVCC) -std=c++17 $(OPT) $(LINEINFO) --extended-lambda $(ARCH) $(INCLUDES) \
    -Xcompiler -Wall,-fno-gnu-unique,-fPIC -MMD -MP -MF $(2:.o=.d) -MT $(2) -c $(1) -o $(2) $(3)
endef
CU_TOOLS :=
endif

$(B)/%.o: %.c | setup
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(INCLUDES) $(BACKEND_INCLUDES) $(DEPS) -c $< -o $@

$(B)/%.o: %.cu $(CU_TOOLS) | setup
	$(call compile_cu,$<,$@)

$(TRANSLATE): $(wildcard common/cpu/translate/*.c) common/cpu/translate/tokens.h | setup
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -D_GNU_SOURCE $(filter %.c,$^) -o $@

-include $(shell find $(B) -name '*.d' 2>/dev/null)
