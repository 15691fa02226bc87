/* loops.cpp - loops over threads. Options: -O3. */
#include "../lessons.cpp"
#include "../order.cpp"
#include "../signals.cpp"
