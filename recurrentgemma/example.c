/* example.c - the engine in a program of your own: continues a text by 100 tokens.
 *
 *     cc example.c -o example $(pkg-config --cflags --libs recurrentgemma)
 *     ./example runs/laptop-griffin/best "ROMEO:"
 *
 * or, without make install:
 *
 *     make build/cpu/recurrentgemma-example
 *     build/cpu/recurrentgemma-example runs/laptop-griffin/best "ROMEO:"
 */
#include "recurrentgemma.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const wb_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

// The text's ids, after BOS where the tokenizer has one.
static int *encode(const text_codec *codec, const char *text, int *count, wb_error *err)
{
    size_t n;
    int *ids = text_encode(codec, text, strlen(text), &n, err);
    int bos = text_bos(codec) >= 0;
    int *all = ids ? malloc((n + 1) * sizeof *all) : NULL;
    if (ids && !all) error_set(err, "no memory for %zu tokens", n);
    if (all) {
        all[0] = text_bos(codec);
        memcpy(all + bos, ids, n * sizeof *ids);
        *count = (int)n + bos;
    }
    free(ids);
    return all;
}

int main(int argc, char **argv)
{
    wb_error err;
    if (argc != 3) {
        fprintf(stderr, "usage: recurrentgemma-example FOLDER TEXT\n");
        return 2;
    }
    text_codec *codec = text_open(argv[1], &err);
    if (!codec) return fail(&err);

    rg_settings set = rg_defaults();
    set.temperature = 0.8f;
    set.context = 2048;
    set.max_new_tokens = 100;
    rg_engine *engine = rg_open(argv[1], &set, &err);
    if (!engine) return fail(&err);

    int count;
    int *prompt = encode(codec, argv[2], &count, &err);
    if (!prompt) return fail(&err);
    const int *prompts[] = {prompt};  // a batch of one
    text_stream *stream = text_stream_begin(codec);
    size_t bytes;
    const char *piece;

    // The prefill samples the first token; each step then up to 8 until the sequence
    // ends.
    int continuing = rg_prefill(engine, prompts, &count, &err);
    for (int shown = 0; continuing >= 0; continuing = rg_step(engine, 8, &err)) {
        for (; shown < rg_sampled(engine, 0); shown++) {
            piece = text_stream_add(stream, rg_tokens(engine, 0)[shown], &bytes);
            fwrite(piece, 1, bytes, stdout);
        }
        fflush(stdout);
        if (continuing == 0) break;
    }
    piece = text_stream_end(stream, &bytes);
    fwrite(piece, 1, bytes, stdout);
    printf("\n");

    text_stream_free(stream);
    rg_close(engine);
    text_close(codec);
    free(prompt);
    return continuing < 0 ? fail(&err) : 0;
}
