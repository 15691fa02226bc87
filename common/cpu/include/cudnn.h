/* cuDNN: not supported. docs/cpu-backend.md lists what is. */
#error "cuDNN is not supported by the CPU back end: write the kernel"
