# parity.mk - RecurrentGemma against known answers (tests/test_recurrentgemma*.c) and beside
# transformers.
#   make recurrentgemma-check-transformers MODEL=folder PYTHON=/path/with/transformers

# Criterion programs, as in tests.mk; these link more than a line `// links:` holds.
ANSWERS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/test_recurrentgemma*.c))
$(ANSWERS): $(ENGINE_PARTS)

recurrentgemma-check-transformers: $(B)/recurrentgemma  ## compare the engine with transformers on a model folder (MODEL=folder)
	@$(or $(GIVEN_PYTHON),$(PYTHON)) tools/check_recurrentgemma.py $< $(or $(MODEL),tests/recurrentgemma/tiny)

.PHONY: recurrentgemma-check-transformers
