# library.mk - the engine as librecurrentgemma.a and .so; make install; Python.
#   make install PREFIX=/usr/local DESTDIR=    uninstall takes the same
#
# The objects of programs cannot become a shared library: their thread-local variables
# have constant offsets (common/cpu/include/wbcpu/qualifiers.h). On the CPU back end it
# has objects of its own, in $(B)/shared; nvcc's objects serve for both. SHARED_OPT=-O0, for
# make test, compiles them in a third of the time, in $(B)/shared-O0.
VERSION := $(shell sed -n 's/^.define WARPBOOK_VERSION "\(.*\)"/\1/p' common/version.h)
SONAME  := librecurrentgemma.so.$(firstword $(subst ., ,$(VERSION)))
SHARED  := $(if $(filter cuda,$(BACKEND))$(filter shared%,$(notdir $(B))),$(B),$(B)/shared$(SHARED_OPT))
LIBRARY_OBJECTS := $(call objects,$(wildcard recurrentgemma/engine/*.c)) $(TEXT) \
                   $(B)/kernels.o
# -fno-semantic-interposition: g++ inlines within the library, as it does in a program.
PIC     := -fPIC -fno-semantic-interposition

# The headers that are installed; what they declare is all that the libraries export.
PUBLIC_HEADERS := recurrentgemma/recurrentgemma.h recurrentgemma/text/text.h \
                  recurrentgemma/text/chat.h common/model_shape.h common/wb_error.h
$(B)/librecurrentgemma.names: $(PUBLIC_HEADERS)
	@mkdir -p $(@D)
	$(Q)grep -ohE '\<(rg|text|chat|shape|error)_[a-z_]+\(' $^ | tr -d '(' | sort -u >$@

in_shared = flock build/lock.shared $(MAKE) -s BUILD=$(SHARED) RECEIPTS=$(B) \
    $(if $(filter $(B),$(SHARED)),,OPT="$(or $(SHARED_OPT),$(OPT)) $(PIC)")
ifeq ($(SHARED),$(B))
$(B)/librecurrentgemma.so: $(LIBRARY_OBJECTS) $(WB) $(B)/librecurrentgemma.names
	$(Q)(echo '{ global:'; sed 's/$$/;/' $(filter %.names,$^); echo 'local: *; };') >$@.map
	$(Q)$(CXX) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$@.map -Wl,--strip-debug \
	    -Wl,-z,nodelete,-z,defs $(filter %.o,$^) $(filter %.a,$^) -o $@ \
	    -Wl,-rpath,'$$ORIGIN/warpbook' @$(WRAPPER).libs -ljansson $(LDLIBS)
else
$(SHARED)/librecurrentgemma.so: FORCE | $(CU_TOOLS) setup
	+$(Q)$(in_shared) $@
endif

# One object, so that its other names cannot clash with those of a program.
$(B)/librecurrentgemma.a: $(LIBRARY_OBJECTS) $(WB) $(B)/librecurrentgemma.names
	@rm -f $@
	$(Q)$(LD) -r --force-group-allocation $(filter %.o,$^) --start-group $(filter %.a,$^) \
	    --end-group -o $(@:.a=.o)
	$(Q)objcopy --strip-debug --keep-global-symbols=$(filter %.names,$^) $(@:.a=.o)
	$(Q)$(AR) rcs $@ $(@:.a=.o) && rm $(@:.a=.o)

library: $(SHARED)/librecurrentgemma.so $(B)/librecurrentgemma.a  ##+ models: the engine as a library

# --- installing -------------------------------------------------------------------------
PREFIX  ?= /usr/local
DESTDIR ?=
# On the CPU back end, a copy of its OpenBLAS is installed, so that nothing needs the tree.
# The programs and the library look for it relative to their own folder.
$(B)/recurrentgemma $(B)/tinylm: private LDLIBS += -Wl,-rpath,'$$ORIGIN/../lib/warpbook'
INSTALL  = PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" B=$(B) SHARED=$(SHARED) \
    SONAME=$(SONAME) VERSION=$(VERSION) PYTHON=$(PYTHON) \
    HEADERS="$(PUBLIC_HEADERS)" \
    OPENBLAS="$(if $(filter cpu,$(BACKEND)),$(wildcard $(OPENBLAS)))" tools/install.sh

install: $(B)/recurrentgemma $(B)/tinylm library  ## models: programs, library, manuals (PREFIX=/usr/local DESTDIR=)
	@LIBS="$$(cat $(WRAPPER).libs) -ljansson $(LDLIBS)" $(INSTALL) install
uninstall:  ##+ models: remove what make install has installed
	@$(INSTALL) uninstall

TEST_PROGRAMS += library
.PHONY: library install uninstall

# --- for Python: the labs as shared libraries, yours and the solutions ------------------
# python/labs/lab03_rmsnorm.so exports what the header declares and the library has, and
# the runtime API for its buffers: with nvcc, that of the shared libcudart, as the static
# one hides its names. A lab that does not compile does not stop the others.
PYTHON_LABS := $(patsubst %/,$(SHARED)/python/%.so,$(sort $(dir \
                   $(wildcard labs/lab*/*.cu solutions/lab*/*.cu))))
RUNTIME     := cudaMalloc cudaFree cudaMemcpy cudaMemset cudaDeviceSynchronize \
               cudaGetLastError cudaGetErrorString wb_status_name
FOUND_CUDART = -lcudart -Wl,-rpath,$(CUDA_HOME)/lib64
ifeq ($(SHARED),$(B))
$(PYTHON_LABS): $(B)/python/%.so: $$(call objects,$$(wildcard $$*/*.cu) common/wb.c) \
        $(BACKEND_LIBS)
	@mkdir -p $(@D)
	$(Q)$(KERNELS) join $(@:.so=.o) $(notdir $*) $(filter-out %/wb.o,$(filter %.o,$^))
	$(Q)(echo '{ global: $(RUNTIME:=;)' && nm -g --defined-only $(@:.so=.o) | \
	    sed -n 's/.* T \(.*\)/\1;/p' && echo 'local: *; };') >$(@:.so=.map)
	$(Q)$(CXX) -shared -Wl,--version-script=$(@:.so=.map) -Wl,-z,nodelete,-z,defs \
	    $(@:.so=.o) $(filter %/wb.o,$^) $(RUNTIME:%=-Wl,-u,%) $(filter %.a,$^) -o $@ \
	    $(LDLIBS:-lcudart_static=$(FOUND_CUDART))
endif

python: $(SHARED)/librecurrentgemma.so  ##+ models: the libraries of the Python package (python/README.md)
	+$(Q)$(in_shared) -k $(PYTHON_LABS)

python-types: | setup  ##+ develop: the Python types of the labs' functions, from the headers
	@$(PYTHON) tools/lab_types.py

TEST_PROGRAMS += python
.PHONY: python python-types
