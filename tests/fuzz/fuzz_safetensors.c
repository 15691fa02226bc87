/* fuzz_safetensors.c - a safetensors file from arbitrary bytes: the tensors of an
 * accepted file are inside it, do not overlap and can be read. */
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

static void must(bool condition)
{
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    wb_error err = {""};
    st_file *f = st_open_memory(data, bytes, "fuzz", &err);
    if (!f) {
        must(strncmp(err.text, "fuzz: ", 6) == 0 && !strchr(err.text, '\n'));
        return 0;
    }
    volatile uint8_t sum = 0;
    size_t total = 0;
    for (size_t i = 0; i < st_count(f); i++) {
        const st_tensor *t = st_at(f, i);
        must(st_find(f, t->name) == t);
        must(t->bytes == t->elements * st_dtype_size(t->dtype));
        for (size_t k = 0; k < t->bytes; k++)
            sum += ((const uint8_t *)t->data)[k];
        total += t->bytes;
    }
    must(total <= bytes);
    st_metadata(f, "format");
    st_close(f);
    return 0;
}

/* A mutation that changes the size of the header makes the length before it wrong, and
 * the reader would always stop there. Seven times in eight the length is corrected. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed)
{
    bytes = LLVMFuzzerMutate(data, bytes, max);
    size_t end = bytes;
    while (end > 8 && data[end - 1] != '}')
        end--;
    if (end <= 8 || seed % 8 == 0) return bytes;
    for (int i = 0; i < 8; i++)
        data[i] = (uint8_t)((uint64_t)(end - 8) >> 8 * i);
    return bytes;
}
