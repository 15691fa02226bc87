/* Thrust: not supported. docs/cpu-backend.md lists what is. */
#error "Thrust is not supported by the CPU back end: use cudaMalloc and a kernel"
