/* fuzz_config.c - config.json of RecurrentGemma from arbitrary bytes: an accepted config
 * is valid, unchanged by writing and reading it, and has a complete list of tensors. */
#include "griffin/config.h"
#include "griffin/tensors.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void must(bool condition)
{
    if (!condition) abort();
}

static bool same_shape(const model_shape *a, const model_shape *b)
{
    for (int i = 0; i < a->layers && i < 200; i++)
        if (shape_is_recurrent(a, i) != shape_is_recurrent(b, i)) return false;
    return a->layers == b->layers && a->channels == b->channels && a->heads == b->heads &&
           a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
           a->rotated == b->rotated && a->hidden == b->hidden && a->vocab == b->vocab &&
           a->recurrent == b->recurrent && a->conv_width == b->conv_width &&
           a->window == b->window && a->scaled == b->scaled && a->tied == b->tied &&
           a->hf_window == b->hf_window && a->context == b->context;
}

static bool same(const griffin_config *a, const griffin_config *b)
{
    return same_shape(&a->shape, &b->shape) && a->bos == b->bos && a->pad == b->pad &&
           memcmp(&a->eos, &b->eos, sizeof a->eos) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    wb_error err = {""};
    griffin_config c, again;
    int count;
    if (griffin_config_parse(&c, (const char *)data, bytes, "fuzz", &err)) {
        must(strncmp(err.text, "fuzz: ", 6) == 0 && !strchr(err.text, '\n'));
        return 0;
    }
    must(griffin_check(&c.shape, &err) == 0);
    json_t *root = griffin_config_to_json(&c, "float32");
    must(root && griffin_config_from_json(&again, root, "again", &err) == 0);
    must(same(&c, &again));
    json_decref(root);
    if (c.shape.layers > 64) return 0;
    griffin_tensor *all = griffin_tensors(&c.shape, &count);
    for (int i = 0; i < count; i++) {
        size_t n = 1;
        for (int k = 0; k < all[i].ndim; k++)
            n *= all[i].shape[k];
        must(all[i].count == n && n > 0 && strlen(all[i].letters) == (size_t)all[i].ndim);
    }
    free(all);
    return 0;
}
