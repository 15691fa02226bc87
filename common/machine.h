/* machine.h - every figure comes with the name of what it was measured on. */
#ifndef MACHINE_H
#define MACHINE_H
#include <stdbool.h>

/* The card's name; of the CPU back end the processor's, and the threads used. No commas. */
const char *machine_name(void);
/* false: the CPU back end. */
bool machine_is_card(void);

#endif
