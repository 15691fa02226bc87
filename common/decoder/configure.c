/* configure.c - from the shape of a model to what the passes need. */
#include "decoder.h"

#include <math.h>

decoder_config decoder_configure(const model_shape *s, wb_dtype dtype)
{
    bool griffin = s->blocks[0] != 0;
    decoder_config c = {
        .dtype = dtype,
        .shape = *s,
        .padded_vocab = shape_padded_vocab(s),
        .window = shape_window(s),
        .activation = griffin ? WB_GEGLU : WB_SWIGLU,
        .norm_offset = griffin ? 1 : 0,
        .score_scale = 1 / sqrtf((float)s->head_dim),
        .embedding_scale = shape_embedding_scale(s)};
    c.shape.head_dim = decoder_head(s->head_dim);
    return c;
}
