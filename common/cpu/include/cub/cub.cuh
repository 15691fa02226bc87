/* CUB: not supported. docs/cpu-backend.md lists what is. */
#error "CUB is not supported by the CPU back end: write the reduction or scan with warp shuffles and shared memory"
