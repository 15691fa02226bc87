/* machine.h - the name of the hardware that a measurement ran on. */
#ifndef MACHINE_H
#define MACHINE_H
#include <stdbool.h>

/* The GPU's name or, on the CPU back end, the processor's name and the number of threads.
 * Without commas and quotes, so that it fits a CSV field. */
const char *machine_name(void);
bool machine_is_gpu(void); /* false on the CPU back end */

#endif
