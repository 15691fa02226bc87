/* dtype.h - the element types of weights and activations. */
#ifndef DTYPE_H
#define DTYPE_H
#include "safetensors.h"

typedef enum wb_dtype { WB_F32, WB_BF16, WB_F16, WB_DTYPES } wb_dtype;

static inline size_t wb_dtype_size(wb_dtype dtype) /* bytes */
{
    return dtype == WB_F32 ? 4 : 2;
}

const char *wb_dtype_name(wb_dtype dtype);              /* "bf16", as in options */
const char *wb_dtype_config_name(wb_dtype dtype);       /* "bfloat16", in config.json */
bool wb_dtype_parse(const char *name, wb_dtype *dtype); /* "bf16"; false: unknown */

/* The type in model files, and back; false: not one for weights. */
st_dtype wb_dtype_stored(wb_dtype dtype);
bool wb_dtype_of_stored(st_dtype stored, wb_dtype *dtype);

#endif
