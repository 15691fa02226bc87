/* loops.cpp - loops over threads, compiled with -O3. */
#include "../lessons.cpp"
#include "../order.cpp"
#include "../signals.cpp"
