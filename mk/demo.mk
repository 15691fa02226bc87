# demo.mk - from a fresh clone to two models that write, in one command.
#   make demo [PROMPT="ROMEO:"] [LENGTH=500] [OUT=runs] [DATA=text] [ARGS="--steps 500"]
demo:  ## trains both small models (or takes the kept ones), both programs write from PROMPT=
	+@BACKEND=$(BACKEND) B=$(B) PYTHON=$(PYTHON) MAKE="$(MAKE)" DATA="$(DATA)" ARGS="$(ARGS)" \
	    OUT="$(if $(filter command environment,$(firstword $(origin OUT))),$(OUT))" tools/demo.sh

.PHONY: demo
