# fuzz.mk - random bytes for the readers of files that come from elsewhere.
CLANG     ?= clang
FUZZ_RUNS ?= 100000
FUZZ      := safetensors tokenizer text config index

fuzz: $(FUZZ:%=fuzz-%)  ## develop: 100,000 runs of each file reader on broken files (needs clang)

fuzz-%: build/host/fuzz_%
	@FUZZ_RUNS=$(FUZZ_RUNS) tests/fuzz/run.sh $*

# What each target links besides tests/fuzz/fuzz_NAME.c; .cpp for SentencePiece, which is
# itself not instrumented.
FUZZ_safetensors := common/safetensors.c common/file.c
FUZZ_tokenizer   := common/tokenizer.c common/file.c
FUZZ_config      := $(wildcard common/griffin/*.c) common/model_shape.c common/file.c
FUZZ_index       := recurrentgemma/engine/files.c common/safetensors.c common/file.c
FUZZ_text        := $(addprefix recurrentgemma/text/,text.c text_stream.c sentencepiece_file.c \
                        sentencepiece.cpp) common/tokenizer.c common/file.c
FUZZ_FLAGS       := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -Icommon

build/host/fuzz_%: tests/fuzz/fuzz_%.c $$(FUZZ_$$*) \
                   $$(wildcard $$(addsuffix *.h,$$(sort $$(dir $$(FUZZ_$$*)))))
	@command -v $(CLANG) >/dev/null || { echo \
	    "make fuzz needs clang and its libFuzzer: apt-get install clang (or CLANG=path)"; exit 1; }
	@mkdir -p $(@D)
	$(Q)for source in $(filter %.c %.cpp,$^); do \
	    case $$source in *.c) std=gnu11 kind=c ;; *) std=gnu++17 kind=c++ ;; esac; \
	    $(CLANG) -x $$kind -std=$$std $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link \
	        $(SENTENCEPIECE_FLAGS) -c $$source -o $@_$$(basename $$source).o || exit 1; \
	done
	$(Q)$(CLANG)++ -fsanitize=fuzzer,address,undefined $@_*.o \
	    $(if $(filter %.cpp,$^),$(SENTENCEPIECE_LIBS)) -l:libjansson.a -lm -o $@

.PHONY: fuzz
