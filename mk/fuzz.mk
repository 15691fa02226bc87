# fuzz.mk - random bytes for the readers of files that come from elsewhere, and mutated
# sources for the translator.
CLANG     ?= clang
FUZZ_RUNS ?= 100000
FUZZ      := safetensors tokenizer text config index tokens

fuzz: $(FUZZ:%=fuzz-%)  ## develop: 100,000 runs of each file reader on broken files (needs clang)

fuzz-%: build/host/fuzz_%
	@FUZZ_RUNS=$(FUZZ_RUNS) tests/fuzz/run.sh $* $<

# Whole sources, each in a process of its own: FUZZ_RUNS=100 FUZZ_SEED=3 for others.
FUZZ_SEED ?= 24301
fuzz-translate: build/host/translate-sanitized  ##+ develop: mutated sources for the translator
	@$(PYTHON) tests/fuzz/translate.py --runs $(FUZZ_RUNS) --seed $(FUZZ_SEED) -- $<

build/host/translate-sanitized: $(wildcard common/cpu/translate/*.[ch]) | setup
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g -Wall -Wextra -D_GNU_SOURCE -fsanitize=address,undefined \
	    -fno-sanitize-recover=all $(filter %.c,$^) -o $@
TEST_PROGRAMS += build/host/translate-sanitized

# What each fuzzer links besides tests/fuzz/fuzz_NAME.c.
FUZZ_safetensors := $(wildcard common/safetensors*.c) common/file.c
FUZZ_tokenizer   := common/tokenizer.c common/utf8.c common/json_text.c common/file.c
FUZZ_config      := $(wildcard common/griffin/*.c) common/eos.c common/model_shape.c \
                    common/json_text.c common/file.c
FUZZ_index       := common/model_files.c $(FUZZ_safetensors) common/json_text.c
FUZZ_tokens      := $(addprefix common/cpu/translate/,lex.c tokens.c text.c messages.c launches.c \
                        declarations.c reductions.c reductions_read.c reductions_compare.c \
                        unroll.c spins.c lockstep.c assembly.c)
FUZZ_text        := $(addprefix recurrentgemma/text/,text.c text_stream.c sentencepiece_file.c \
                        sentencepiece.cpp) common/tokenizer.c common/utf8.c common/json_text.c common/file.c

build/host/fuzz_%: tests/fuzz/fuzz_%.c $$(FUZZ_$$*) \
                   $$(wildcard $$(addsuffix *.h,$$(sort $$(dir $$(FUZZ_$$*)))))
	$(Q)CLANG=$(CLANG) SENTENCEPIECE=$(abspath $(SENTENCEPIECE)) tests/fuzz/build.sh $@ $^

.PHONY: fuzz fuzz-translate
