# check.mk - any program, its own main included:
#   make run FILE=prog.cu [ARGS="1 2"]
#   make check FILE=prog.cu [ARGS="1 2"]    the same in check mode
#   NVCCFLAGS="-rdc=true -std=c++20"        nvcc options, for both
#   HTML=report.html  writes the page      JSON=report.json  keeps the report
#   GPU=a100          whose cache and bandwidth the figures are for
# tools/check.py builds the program, runs it and shows the report. The variables may hold
# anything: it gets them in the environment, as they are.
CHECK_BUILD := $(if $(filter file,$(origin BUILD)),build/check,$(BUILD))

override ARGS := $(value ARGS)
override NVCCFLAGS := $(value NVCCFLAGS)
override HTML := $(value HTML)
override JSON := $(value JSON)
override GPU := $(value GPU)
export ARGS NVCCFLAGS HTML JSON GPU

# For nvcc: only the libraries that the program uses are linked. wbcc has them built in.
FOUND_LIBS = $(foreach name,cublas cublasLt curand cufft cuda,$(if $(wildcard \
    $(CUDA_HOME)/lib64/lib$(name).so $(CUDA_HOME)/lib64/stubs/lib$(name).so),-l$(name)))
RUN_COMPILER = $(if $(filter cpu,$(BACKEND)),tools/wbcc,$(NVCC) $(CUDA_RPATH) \
    -Xlinker --as-needed $(FOUND_LIBS))
run:  ## learn: build and run your own program (FILE=x.cu ARGS=... NVCCFLAGS=...)
	@[ -n "$$FILE" ] || { echo "which program? make run FILE=prog.cu [ARGS=...]"; exit 1; }
	@mkdir -p $(B)/programs
	@set -f; name=$(B)/programs/$$(basename "$$FILE" .cu); $(RUN_COMPILER) $$NVCCFLAGS \
	    "$$FILE" -o "$$name" -run -run-args "$$ARGS"

check: export NVCC := $(NVCC)
check: | setup  ## learn: your own program in check mode (FILE=x.cu ARGS=... NVCCFLAGS=... HTML=x.html)
	@[ -e $(CHECK_BUILD)/libwbcpu.a ] || echo "building the back end in check mode, once"
	@$(MAKE) -s BACKEND=cpu CHECK=1 BUILD=$(CHECK_BUILD) FILE= check-tools
	@$(PYTHON) tools/check.py --build $(CHECK_BUILD)

ifneq ($(CHECK),)
check-tools: $(B)/labs/settings $(LAB_BEGINS:=.gch) $(BACKEND_LIBS) $(CU_TOOLS) | setup
endif
.PHONY: run check check-tools
