/* Thrust is not part of the CPU back end; see docs/cpu-backend.md for what is. */
#error "Thrust is not supported by the cpu backend: use cudaMalloc and a kernel"
