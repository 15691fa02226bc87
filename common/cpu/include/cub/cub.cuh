/* CUB is not part of the CPU back end; see docs/cpu-backend.md for what is. */
#error "CUB is not supported by the cpu backend: write the reduction or scan with warp shuffles and shared memory"
