/* cuRAND is not part of the CPU back end; see docs/cpu-backend.md for what is. */
#error "cuRAND is not supported by the cpu backend: wb_random of common/wb.h makes random numbers in a kernel"
