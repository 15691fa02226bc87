#!/usr/bin/env bash
# Blocks that wait for another one yield, also with more threads than most machines have.
export WAITING=scan_long,back_long
exec "$(dirname "$0")/lab.sh" lab06
