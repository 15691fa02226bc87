# fuzz.mk - random bytes for the readers of files that come from elsewhere.
CLANG     ?= clang
FUZZ_RUNS ?= 100000
FUZZ      := safetensors tokenizer text config index

fuzz: $(FUZZ:%=fuzz-%)  ## develop: 100,000 runs of each file reader on broken files (needs clang)

fuzz-%: build/host/fuzz_%
	@FUZZ_RUNS=$(FUZZ_RUNS) tests/fuzz/run.sh $* $<

# What each fuzzer links besides tests/fuzz/fuzz_NAME.c.
FUZZ_safetensors := common/safetensors.c common/file.c
FUZZ_tokenizer   := common/tokenizer.c common/file.c
FUZZ_config      := $(wildcard common/griffin/*.c) common/model_shape.c common/file.c
FUZZ_index       := recurrentgemma/engine/files.c common/safetensors.c common/file.c
FUZZ_text        := $(addprefix recurrentgemma/text/,text.c text_stream.c sentencepiece_file.c \
                        sentencepiece.cpp) common/tokenizer.c common/file.c

build/host/fuzz_%: tests/fuzz/fuzz_%.c $$(FUZZ_$$*) \
                   $$(wildcard $$(addsuffix *.h,$$(sort $$(dir $$(FUZZ_$$*)))))
	$(Q)CLANG=$(CLANG) SENTENCEPIECE=$(abspath $(SENTENCEPIECE)) tests/fuzz/build.sh $@ $^

.PHONY: fuzz
