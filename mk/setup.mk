# setup.mk - installs what is missing; uses the network only when something is missing.
# $(PYTHON) is a wrapper around the Python given as PYTHON=, or around the one of .venv.
GIVEN_PYTHON := $(filter-out %build/host/python,$(PYTHON))
override PYTHON := $(CURDIR)/build/host/python

# The stamps keep every other call quick. `make setup` checks everything again, and so
# does a PYTHON= that differs from the last one. `make -n` leaves them alone.
LAST_PYTHON := $(file <build/host/python.given)
ONLY_PRINT  := $(findstring n,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
ifneq ($(if $(ONLY_PRINT),,$(filter setup setup-test setup-book,$(MAKECMDGOALS))$(filter-out $(LAST_PYTHON),$(GIVEN_PYTHON))),)
$(shell rm -f $(addprefix build/host/setup.,base test book))
endif

setup: build/host/setup.base $(if $(NVCC),,$(filter cuda,$(BACKEND)))  ##+ learn: install what building, grading and training need (BACKEND=cuda: nvcc, too)
cuda: build/host/setup.base
	@tools/setup_cuda.sh
setup-book: build/host/setup.book
setup-test: build/host/setup.test  ##+ develop: install what the tests also need

build/host/setup.%: tools/setup.sh requirements.txt
	@mkdir -p $(@D)
	@tools/setup.sh $* $(GIVEN_PYTHON)
	@touch $@
build/host/setup.test: build/host/setup.base tests/requirements.txt docs/book/requirements.txt
build/host/setup.book: build/host/setup.base docs/book/requirements.txt

# What the tests need is enough for the book, too.
book: build/host/setup.$(if $(wildcard build/host/setup.test),test,book)  ## develop: a site of all guides and pages, build/book/site (SERVE=8000: at localhost)
	@$(PYTHON) tools/book.py build/book
	@$(if $(SERVE),$(PYTHON) -m http.server -d build/book/site --bind localhost $(SERVE))

data: | setup  ##+ models: download the training text (DATA=path for your own)
	@$(PYTHON) tools/data.py --data "$(DATA)"

doctor:  ## learn: what was found, what is missing, and how to fix it
	@BACKEND=$(BACKEND) tools/doctor.sh "$(NVCC)" "$(DATA)"

compile_commands.json: | setup  ##+ learn: for clangd: no false errors in a .cu, toolkit or not
	@$(PYTHON) tools/compile_commands.py > $@ && echo "wrote $@"

.PHONY: setup cuda setup-test setup-book book data doctor compile_commands.json
