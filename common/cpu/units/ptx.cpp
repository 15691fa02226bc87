/* ptx.cpp - inline PTX. Options: -O1. */
#include "../ptx.cpp"
#include "../ptx_arithmetic.cpp"
#include "../ptx_convert.cpp"
#include "../ptx_memory.cpp"
#include "../ptx_parse.cpp"
#include "../ptx_warp.cpp"
