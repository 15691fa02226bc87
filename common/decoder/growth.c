/* growth.c - the two buffers that grow with the sequences: the prompts on the device and
 * the RoPE table. A large maximum length costs nothing until a sequence reaches it. */
#include "decoder.h"
#include "rope.h"

enum { FIRST_ROOM = 4096 };  // tokens or positions

// At least `want` and at most `most`; doubled, so that a sequence rarely waits for it.
static int more_room(int room, int want, int most)
{
    long long n = room ? room : FIRST_ROOM;
    while (n < want)
        n *= 2;
    return n < most ? (int)n : most;
}

// In place of the old memory, whose content is lost.
static cudaError_t replace(decoder *d, void **memory, size_t old_bytes, size_t bytes)
{
    cudaError_t e = cudaStreamSynchronize(d->stream);
    if (!e && *memory) e = cudaFree(*memory);
    if (e) return e;
    *memory = NULL, d->grown_bytes -= old_bytes;
    e = cudaMalloc(memory, bytes);
    if (!e) d->grown_bytes += bytes;
    return e;
}

cudaError_t decoder_grow_prompt(decoder *d, int count)
{
    size_t row = (size_t)d->batch * sizeof *d->prompt, old = (size_t)d->prompt_room * row;
    if (count <= d->prompt_room) return cudaSuccess;
    d->prompt_room = more_room(d->prompt_room, count, d->set.longest_prompt);
    return replace(d, (void **)&d->prompt, old, (size_t)d->prompt_room * row);
}

// The angles of a position do not depend on the length of the table.
cudaError_t decoder_grow_rope(decoder *d, int positions)
{
    const model_shape *s = &d->config.shape;
    size_t row = (size_t)(s->rotated ? s->rotated : 1) * sizeof *d->rope_table;
    size_t old = (size_t)d->rope_room * row;
    if (positions > d->set.positions) positions = d->set.positions;
    if (positions <= d->rope_room) return cudaSuccess;
    d->rope_room = more_room(d->rope_room, positions, d->set.positions);
    cudaError_t e = replace(d, (void **)&d->rope_table, old, (size_t)d->rope_room * row);
    if (e) return e;
    decoder_forget_graphs(d);  // they have the old address
    WB_CHECK(
        rope_table_f32(d->rope_table, d->rope_room, s->rotated, s->rope_base, d->stream));
    return cudaSuccess;
}
