# setup.mk - installs what is missing, and nothing (and without the network) when nothing is.
setup:

.PHONY: setup
