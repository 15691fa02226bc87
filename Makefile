# warpbook. `make` lists the commands; each file of mk/ has one subject.
#   BACKEND=cpu|cuda   V=1 (show commands)   PYTHON=/path/to/python   CXX=clang++
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDARY:
.SECONDEXPANSION:
# FILE= may be a stranger's choice, such as `$(shell ...).cu`. make must not expand it:
# recipes get it in the environment, as it is.
override FILE := $(value FILE)
export FILE
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Before anything runs, make help included.
BAD_PATH := $(shell tools/check_path.sh)
$(if $(BAD_PATH),$(error $(BAD_PATH)))

include mk/toolchain.mk       # back end, compilers, flags; sources become objects and programs
include mk/setup.mk           # what is missing on this computer
include mk/labs.mk            # lab03, grade, starters; which kernels the programs run
-include mk/course.mk         # autograders for course servers
include mk/tinylm.mk          # train and generate
include mk/recurrentgemma.mk  # the inference engine, SentencePiece, the demo
include mk/library.mk         # the engine as a library; install
include mk/bench.mk           # measurements of kernels
include mk/plots.mk           # measurements of TinyLM as a whole, plotted
include mk/cpu.mk             # the CPU back end: its library and its own checks
include mk/check.mk         # a program in check mode
include mk/fuzz.mk            # random bytes for the file readers
include mk/tests.mk           # test

# A target is listed by `## section: text`; `##+` lists it in help-all only.
HELP = awk -v all=$(1) -v handout=$(if $(wildcard solutions),,1) -f tools/help.awk $(filter Makefile %.mk,$(MAKEFILE_LIST))
help:  ##+ develop: the commands used most
	@$(call HELP,)
help-all:  ## develop: every command
	@$(call HELP,1)

clean:  ## develop: remove everything built (data, environment and checkpoints stay)
	rm -rf build

.PHONY: help help-all clean
