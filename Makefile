# warpbook. `make` alone prints every command; each mk/ file has one subject.
#   BACKEND=cpu|cuda   V=1 (show commands)   PYTHON=/path/to/python   CXX=clang++
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules --no-print-directory

include mk/toolchain.mk  # back end, compilers, flags; how a .c and a .cu become an object
include mk/labs.mk       # lab03, grade, starters, which kernels the programs take
include mk/grader.mk     # the program behind ./grade
include mk/tinylm.mk     # train and generate
include mk/text.mk       # SentencePiece and what is linked with it
include mk/recurrentgemma.mk # the inference engine, its programs and tests; the demo
include mk/setup.mk      # what is missing on this machine, and how it gets here
include mk/bench.mk      # measurements
include mk/plots.mk      # measurements of TinyLM as a whole, drawn
include mk/cpu.mk        # the CPU back end's library and its own checks
include mk/blas.mk       # matrix products of the CPU back end
include mk/ops.mk        # given operations: test data
include mk/fuzz.mk       # any bytes thrown at the file readers
include mk/tests.mk      # test

help: ## this list
	@awk -F ' *## *' \
	    '/^[a-zA-Z0-9%_.-]+:.*## /{split($$1,t,":"); printf "  make %-26s%s %s\n", t[1], (length(t[1]) > 26 ? sprintf("\n%33s", "") : ""), $$2}' $(MAKEFILE_LIST)

clean: ## remove everything built (data, environment and checkpoints stay)
	rm -rf build

.PHONY: help clean
