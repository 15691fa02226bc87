/* program.cpp - the program, its lines and variables, and the report. */
#include "../findings.cpp"
#include "../heap.cpp"
#include "../run.cpp"
#include "../site.cpp"
#include "../variables.cpp"
#include "../watchdog.cpp"
