/* fuzz_tokens.c - a CUDA source from arbitrary bytes: the translator's tokens cover it, and
 * its rules keep the line breaks. The headers are in tests/fuzz/translate.py. */
#include "../../common/cpu/translate/tokens.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    stderr = fopen("/dev/null", "w"); /* of the translator; libFuzzer keeps its own */
    return stderr == NULL;
}

static void must(int ok)
{
    if (!ok) abort();
}

static int line_breaks(const char *text, size_t n)
{
    int count = 0;
    for (size_t i = 0; i < n; i++)
        count += text[i] == '\n';
    return count;
}

static void check_tokens(const struct source *s, int *broken)
{
    const char *end = s->text;
    *broken = 0;
    for (int i = 0; i < s->count; i++) {
        const struct token *t = &s->tokens[i];
        must(t->start == end && t->length > 0 && t->next > i && t->previous < i);
        must(t->mate < 0 || s->tokens[t->mate].mate == i);
        end += t->length;
        *broken |= t->kind != BLANK && t->kind != COMMENT &&
                   memchr(t->start, '\n', (size_t)t->length) != NULL;
    }
    must(end == s->text + s->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct source s = {.path = "fuzz.cu", .text = malloc(bytes + 1), .size = bytes};
    char *out = NULL;
    size_t size = 0;
    int broken;
    must(s.text != NULL);
    memcpy(s.text, data, bytes);
    s.text[bytes] = 0;
    errors = given_up = 0;
    tokenize(&s);
    must(given_up == (errors != 0));
    if (!given_up) {
        check_tokens(&s, &broken);
        rewrite_reductions(&s);
        if (!given_up) rewrite_unrolls(&s);
        if (!given_up) rewrite_spins(&s);
        if (!given_up) rewrite_lockstep(&s);
        if (!given_up) rewrite_assembly(&s);
        if (!given_up) rewrite_launches(&s);
        if (!given_up) rewrite_declarations(&s);
        FILE *f = open_memstream(&out, &size);
        must(f != NULL);
        print_source(&s, f);
        fclose(f);
        /* A kernel's name is repeated, with the line break in a raw string or a splice. */
        must(errors || broken || line_breaks(out, size) == line_breaks(s.text, s.size));
        free(out);
    }
    free_source(&s);
    return 0;
}
