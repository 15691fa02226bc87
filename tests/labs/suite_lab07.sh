#!/usr/bin/env bash
export FEW_BLOCKS=decode  # decode_short.cuh
exec "$(dirname "$0")/lab.sh" lab07
