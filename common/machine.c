/* machine.c - see machine.h. */
#include "machine.h"

#include "cuda_check.h"

#include <stdio.h>
#include <string.h>

// The processor's name. The CPU back end's device name has only the number of workers.
static void cpu_name(char *name, size_t room)
{
    char line[300];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value[strcspn(value, "\n")] = 0;
        snprintf(name, room, "%.200s", value + 2);
        break;
    }
    if (f) fclose(f);
}

const char *machine_name(void)
{
    static char name[300];
    struct cudaDeviceProp p;
    if (name[0]) return name;  // the driver takes milliseconds to answer
    CUDA_CHECK(cudaGetDeviceProperties(&p, 0));
    snprintf(name, sizeof name, "%.250s", p.name);
    if (p.integrated) {
        cpu_name(name, sizeof name);
        size_t n = strlen(name);
        snprintf(name + n, sizeof name - n, " (%d threads)", p.multiProcessorCount);
    }
    for (char *s = name; *s; s++)
        if (*s == ',' || *s == '"') *s = ' ';
    return name;
}

bool machine_is_gpu(void)
{
    struct cudaDeviceProp p;
    CUDA_CHECK(cudaGetDeviceProperties(&p, 0));
    return !p.integrated;
}
