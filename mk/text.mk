# text.mk - text to tokens: SentencePiece where it is installed, and what is linked with it.
#   SENTENCEPIECE=/prefix   its include/ and lib/, where it is not the system's
SENTENCEPIECE       ?=
SENTENCEPIECE_FLAGS  = $(SENTENCEPIECE:%=-I%/include)
SENTENCEPIECE_LIBS   = $(if $(SENTENCEPIECE),-L$(SENTENCEPIECE)/lib -Xlinker -rpath \
                       -Xlinker $(abspath $(SENTENCEPIECE))/lib) -lsentencepiece
RG_FOLDER   := $(B)/objects/recurrentgemma# not $(B)/recurrentgemma: that is the program
WRAPPER     := $(RG_FOLDER)/text/sentencepiece

# A program that takes TEXT_OBJECTS is linked with $(LINK_TEXT): flags and library as found.
TEXT_OBJECTS := $(addprefix $(RG_FOLDER)/text/,text.o text_stream.o chat.o sentencepiece_file.o sentencepiece.o)
LINK_TEXT     = $(LINK_PROGRAM) @$(WRAPPER).libs

# Looked for by the recipe, after set-up had its chance to install it. When the library
# came later, or went, what the last time found is written anew, and the wrapper with it.
HAVE_SENTENCEPIECE = printf '\#if !__has_include(<sentencepiece_processor.h>)\n\#error\n\#endif\n' | \
    $(CXX) -E -x c++ $(SENTENCEPIECE_FLAGS) - >/dev/null 2>&1
FOUND = $$(if $(HAVE_SENTENCEPIECE); then echo '$(strip $(SENTENCEPIECE_LIBS))'; fi)
ifneq ($(wildcard $(WRAPPER).libs),)
$(shell now="$(FOUND)"; [ "$$(cat $(WRAPPER).libs)" = "$$now" ] || echo "$$now" >$(WRAPPER).libs)
endif

$(WRAPPER).o: $(addprefix recurrentgemma/text/sentencepiece,.cpp .h _none.c) common/file.h \
              $(wildcard $(WRAPPER).libs) | setup
	@mkdir -p $(@D)
	$(Q)echo "$(FOUND)" >$(WRAPPER).libs; if [ -n "$$(cat $(WRAPPER).libs)" ]; then \
	    $(CXX) -std=gnu++17 $(OPT) -g -Wall -Wextra $(SANITIZE) -Icommon $(SENTENCEPIECE_FLAGS) \
	        -c $< -o $@; \
	else \
	    echo "no SentencePiece library: tokenizer.model files cannot be read (make doctor)"; \
	    $(CC) $(CFLAGS) -Icommon -c recurrentgemma/text/sentencepiece_none.c -o $@; \
	fi

$(B)/tests/recurrentgemma/text: $(B)/tests/recurrentgemma/text.o $(TEXT_OBJECTS) \
                                $(addprefix $(B)/common/,file.o tokenizer.o)
	$(LINK_TEXT)
TEST_PROGRAMS += $(B)/tests/recurrentgemma/text
