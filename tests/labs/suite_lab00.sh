#!/usr/bin/env bash
exec "$(dirname "$0")/lab.sh" lab00
