/* dtype.c - see dtype.h. */
#include "dtype.h"

#include <string.h>

static const struct {
    const char *name, *config_name;
    st_dtype stored;
} dtypes[WB_DTYPES] = {
    [WB_F32] = {"f32", "float32", ST_F32},
    [WB_BF16] = {"bf16", "bfloat16", ST_BF16},
    [WB_F16] = {"f16", "float16", ST_F16}};

const char *wb_dtype_name(wb_dtype dtype)
{
    return dtypes[dtype].name;
}

const char *wb_dtype_config_name(wb_dtype dtype)
{
    return dtypes[dtype].config_name;
}

st_dtype wb_dtype_stored(wb_dtype dtype)
{
    return dtypes[dtype].stored;
}

bool wb_dtype_parse(const char *name, wb_dtype *dtype)
{
    for (int i = 0; i < WB_DTYPES; i++)
        if (strcmp(name, dtypes[i].name) == 0) return *dtype = (wb_dtype)i, true;
    return false;
}

bool wb_dtype_of_stored(st_dtype stored, wb_dtype *dtype)
{
    for (int i = 0; i < WB_DTYPES; i++)
        if (stored == dtypes[i].stored) return *dtype = (wb_dtype)i, true;
    return false;
}
