/* cuRAND: not supported. docs/cpu-backend.md lists what is. */
#error "cuRAND is not supported by the CPU back end: use wb_random of common/wb.h"
