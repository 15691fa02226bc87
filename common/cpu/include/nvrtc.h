/* NVRTC: not supported. docs/cpu-backend.md lists what is. */
#error "NVRTC is not supported by the CPU back end: compile the kernel with the program"
