/* cuDNN is not part of the CPU back end; see docs/cpu-backend.md for what is. */
#error "cuDNN is not supported by the cpu backend: write the kernel"
