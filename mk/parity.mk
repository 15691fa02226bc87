# parity.mk - RecurrentGemma against known answers: tests/test_recurrentgemma*.c.

# Criterion programs, as in tests.mk; these link more than a line `// links:` holds.
$(B)/tests/test_recurrentgemma $(B)/tests/test_recurrentgemma_layers $(B)/tests/test_recurrentgemma_taps: $(ENGINE_PARTS)
