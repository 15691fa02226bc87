# fuzz.mk - any bytes thrown at the readers of files that come from elsewhere.
CLANG     ?= clang
FUZZ_RUNS ?= 100000
FUZZ      := safetensors tokenizer text config index

fuzz: $(FUZZ:%=fuzz-%)  ## 100,000 runs of each file reader on broken files (needs clang)

# The corpus in the tree is only read; what the fuzzer finds goes to build/host.
fuzz-%: build/host/fuzz_%
	@mkdir -p build/host/corpus_$*
	@log=build/host/fuzz_$*.log; \
	if $< -runs=$(FUZZ_RUNS) -seed=24301 -max_len=4096 -rss_limit_mb=2048 -timeout=20 \
	    -dict=tests/fuzz/$*.dict -artifact_prefix=build/host/ -print_final_stats=1 \
	    build/host/corpus_$* tests/fuzz/corpus/$* >$$log 2>&1; then \
	    runs=$$(sed -n 's/^stat::number_of_executed_units: //p' $$log); \
	    cover=$$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' $$log); \
	    echo "fuzz $*: $$runs runs, $$cover edges covered, no crash, leak or sanitizer report"; \
	else \
	    tail -40 $$log; \
	    echo "fuzz $*: FAILED; the input is in build/host/, the whole log is $$log"; exit 1; \
	fi

define FUZZ_LINK
@command -v $(CLANG) >/dev/null || { echo \
    "make fuzz needs clang and its libFuzzer: apt-get install clang (or CLANG=path)"; exit 1; }
@mkdir -p $(@D)
$(Q)$(CLANG) -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=all -Icommon $(filter %.c,$^) -l:libjansson.a -lm -o $@
endef
build/host/fuzz_%: tests/fuzz/fuzz_%.c common/%.c common/file.c common/%.h common/file.h
	$(FUZZ_LINK)
build/host/fuzz_config: tests/fuzz/fuzz_config.c $(addprefix common/,griffin/config.c griffin/config_read.c griffin/tensors.c model_shape.c \
                        file.c griffin/config.h griffin/tensors.h cast.h)
	$(FUZZ_LINK)
build/host/fuzz_index: tests/fuzz/fuzz_index.c recurrentgemma/engine/files.c common/safetensors.c \
                       common/file.c recurrentgemma/engine/files.h
	$(FUZZ_LINK)

# With SentencePiece; the library itself is not instrumented.
TEXT_SOURCES := $(addprefix recurrentgemma/text/,text.c text_stream.c sentencepiece_file.c)
build/host/fuzz_text: tests/fuzz/fuzz_text.c $(TEXT_SOURCES) recurrentgemma/text/sentencepiece.cpp \
                      $(wildcard recurrentgemma/text/*text*.h) recurrentgemma/text/sentencepiece.h \
                      common/tokenizer.c common/file.c
	@mkdir -p $(@D)
	$(Q)for source in $(filter %.c %.cpp,$^); do \
	    case $$source in *.c) std=gnu11 kind=c ;; *) std=gnu++17 kind=c++ ;; esac; \
	    $(CLANG) -x $$kind -std=$$std -g -O1 -fsanitize=fuzzer-no-link,address,undefined \
	        -fno-sanitize-recover=all -Icommon $(SENTENCEPIECE_FLAGS) -c $$source \
	        -o $@_$$(basename $$source).o || exit 1; \
	done
	$(Q)$(CLANG)++ -fsanitize=fuzzer,address,undefined $@_*.o $(SENTENCEPIECE_LIBS) \
	    -l:libjansson.a -o $@

.PHONY: fuzz
