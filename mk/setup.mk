# setup.mk - installs what is missing; uses the network only when something is missing.
# $(PYTHON) is a wrapper around the Python given as PYTHON=, or around the one of .venv.
GIVEN_PYTHON := $(filter-out %build/host/python,$(PYTHON))
override PYTHON := $(CURDIR)/build/host/python

# The stamps keep every other call quick. `make setup` checks everything again, and so
# does a PYTHON= that differs from the last one.
LAST_PYTHON := $(shell cat build/host/python.given 2>/dev/null)
ifneq ($(filter setup setup-test,$(MAKECMDGOALS))$(filter-out $(LAST_PYTHON),$(GIVEN_PYTHON)),)
$(shell rm -f build/host/setup.base build/host/setup.test)
endif

setup: build/host/setup.base  ##+ learn: install what building, grading and training need
setup-test: build/host/setup.test  ##+ develop: install what the tests also need

build/host/setup.%: tools/setup.sh requirements.txt
	@mkdir -p $(@D)
	@tools/setup.sh $* $(GIVEN_PYTHON)
	@touch $@
build/host/setup.test: build/host/setup.base tests/requirements.txt

data: | setup  ##+ models: download the training text (DATA=path for your own)
	@$(PYTHON) tools/data.py --data "$(DATA)"

doctor:  ## learn: what was found, what is missing, and how to fix it
	@BACKEND=$(BACKEND) tools/doctor.sh "$(NVCC)" "$(DATA)"

compile_commands.json: | setup  ##+ learn: for clangd: no false errors in a .cu, toolkit or not
	@$(PYTHON) tools/compile_commands.py > $@ && echo "wrote $@"

.PHONY: setup setup-test data doctor compile_commands.json
