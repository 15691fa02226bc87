/* NVRTC is not part of the CPU back end; see docs/cpu-backend.md for what is. */
#error "NVRTC is not supported by the cpu backend: compile the kernel with the program"
