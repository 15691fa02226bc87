/* dtype.h - the element types of weights and activations. */
#ifndef DTYPE_H
#define DTYPE_H
#include <stdbool.h>
#include <stddef.h>

typedef enum wb_dtype { WB_F32, WB_BF16, WB_F16, WB_DTYPES } wb_dtype;

static inline size_t wb_dtype_size(wb_dtype dtype) /* bytes */
{
    return dtype == WB_F32 ? 4 : 2;
}

#endif
