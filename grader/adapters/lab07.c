/* lab07.c - calls the functions of the KV cache (labs/lab07_kvcache/kvcache.h). */
#include "../harness.h"
#include "kvcache.h"

static wb_status append(const struct call *c)
{
    return BY_DTYPE(
        c, kv_append, arg(c, "kcache"), arg(c, "vcache"), arg(c, "k"), arg(c, "v"),
        arg(c, "pos"), arg(c, "len"), size(c, "B"), size(c, "T"), size(c, "S"),
        size(c, "K"), size(c, "D"), size(c, "ldkv"), stream(c));
}

static wb_status unroll(const struct call *c)
{
    return BY_DTYPE(
        c, kv_unroll, arg(c, "kall"), arg(c, "vall"), arg(c, "kcache"), arg(c, "vcache"),
        arg(c, "k"), arg(c, "v"), arg(c, "pos"), size(c, "B"), size(c, "T"), size(c, "S"),
        size(c, "K"), size(c, "D"), size(c, "ldkv"), stream(c));
}

static wb_status decode(const struct call *c)
{
    return BY_DTYPE(
        c, attention_decode, arg(c, "out"), arg(c, "kcache"), arg(c, "vcache"),
        arg(c, "q"), arg(c, "k"), arg(c, "v"), arg(c, "cis"), arg(c, "pos"), size(c, "B"),
        size(c, "S"), size(c, "H"), size(c, "K"), size(c, "D"), size(c, "N"),
        size(c, "ldq"), size(c, "ldkv"), number(c, "scale"), workspace(c),
        workspace_bytes(c), stream(c));
}

static size_t decode_workspace(const struct call *c)
{
    return BY_DTYPE(
        c, attention_decode_workspace, size(c, "B"), size(c, "S"), size(c, "H"),
        size(c, "K"), size(c, "D"));
}

static wb_status sample(const struct call *c)
{
    return sample_f32(
        arg(c, "token"), arg(c, "seen"), arg(c, "logits"), arg(c, "seed"), arg(c, "pos"),
        size(c, "B"), size(c, "V"), size(c, "ld"), number(c, "softcap"),
        number(c, "penalty"), number(c, "temperature"), size(c, "top_k"),
        number(c, "top_p"), workspace(c), workspace_bytes(c), stream(c));
}

static size_t sample_workspace(const struct call *c)
{
    return sample_workspace_f32(size(c, "B"), size(c, "V"));
}

const struct adapter adapters[] = {
    {"kv_append", append, NULL},
    {"kv_unroll", unroll, NULL},
    {"attention_decode", decode, decode_workspace},
    {"sample", sample, sample_workspace},
    {NULL, NULL, NULL},
};
