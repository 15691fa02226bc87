/* fuzz_index.c - model.safetensors.index.json from arbitrary bytes: the shards of an
 * accepted index are distinct names of files in its folder; every tensor is in one. */
#include "model_files.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void must(bool condition)
{
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    wb_error err = {""};
    shard_index x;
    const char *tensor;
    json_t *value;
    if (shard_index_parse(&x, (const char *)data, bytes, "fuzz", &err)) {
        must(strncmp(err.text, "fuzz: ", 6) == 0 && !strchr(err.text, '\n'));
        return 0;
    }
    must(x.shards >= 1);
    for (int i = 0; i < x.shards; i++) {
        must(*x.shard[i] && !strchr(x.shard[i], '/') && strcmp(x.shard[i], "..") != 0);
        for (int k = 0; k < i; k++)
            must(strcmp(x.shard[i], x.shard[k]) != 0);
    }
    json_object_foreach(json_object_get(x.root, "weight_map"), tensor, value) {
        const char *shard = shard_index_find(&x, tensor);
        int found = 0;
        for (int i = 0; i < x.shards; i++)
            found += strcmp(x.shard[i], shard) == 0;
        must(found == 1);
    }
    shard_index_free(&x);
    return 0;
}
