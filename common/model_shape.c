/* model_shape.c - see model_shape.h. */
#include "model_shape.h"
#include "cast.h"

#include <limits.h>
#include <math.h>
#include <string.h>

bool shape_is_recurrent(const model_shape *s, int layer)
{
    size_t kinds = strlen(s->blocks);
    return kinds > 0 && s->blocks[(size_t)layer % kinds] == 'r';
}

int shape_window(const model_shape *s)
{
    bool griffin = s->blocks[0] != 0;
    return griffin ? s->window - s->hf_window : INT_MAX;  // WB_ALL
}

float shape_embedding_scale(const model_shape *s)
{
    return s->scaled ? wb_from_bf16(wb_to_bf16(sqrtf((float)s->channels))) : 1;
}

int shape_padded_vocab(const model_shape *s)
{
    enum { TILE = 64 };
    return (s->vocab + TILE - 1) / TILE * TILE;
}
