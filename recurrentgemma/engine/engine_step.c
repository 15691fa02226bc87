/* engine_step.c - rg_step: token by token, and the bookkeeping of every sequence.
 *
 * The samples of a step are copied to the host on a stream of their own, so the next step
 * does not wait for the copy. The host sends one step ahead instead of waiting for each,
 * which would leave the device idle. When the host sees that all sequences have ended,
 * exactly one more step is enqueued: the one that processes the last stop token.
 */
#include "engine.h"

static bool is_stop(const rg_engine *e, int token)
{
    for (int i = 0; i < e->d.set.stop_count; i++)
        if (e->stop[i] == token) return true;
    return false;
}

void engine_send(rg_engine *e, int column)
{
    size_t pitch = (size_t)e->set.max_new_tokens * sizeof(int);
    int i = column % 2;
    CUDA_CHECK(cudaEventRecord(e->sampled[i], e->stream));
    CUDA_CHECK(cudaStreamWaitEvent(e->copies, e->sampled[i], 0));
    CUDA_CHECK(cudaMemcpy2DAsync(
        e->h_sampled + column, pitch, e->d.sampled + column, pitch, sizeof(int),
        (size_t)e->batch, cudaMemcpyDeviceToHost, e->copies));
    CUDA_CHECK(cudaEventRecord(e->arrived[i], e->copies));
}

// A step of the batch for a sequence that is done.
static void step_past_end(engine_sequence *s)
{
    if (s->sampled > 0 && s->processed < s->length)
        s->processed = s->length;  // its stop token
    else if (s->processed > 0)
        s->invalid = true;
}

int engine_take(rg_engine *e, int column)
{
    int continuing = 0;
    CUDA_CHECK(cudaEventSynchronize(e->arrived[column % 2]));
    for (int b = 0; b < e->batch; b++) {
        engine_sequence *s = &e->sequence[b];
        if (s->done) {
            if (column > 0) step_past_end(s);
            continue;
        }
        int token = e->h_sampled[(size_t)b * e->set.max_new_tokens + column];
        s->processed = s->length;  // the token before it; rg_prefill has processed all
        s->tokens[s->length++] = token;
        s->sampled++;
        s->done = is_stop(e, token) || s->sampled == e->set.max_new_tokens;
        continuing += !s->done;
    }
    return continuing;
}

// Steps that every sequence has room for, at most n; -1: one has none.
static int steps_with_room(const rg_engine *e, int n, wb_error *err)
{
    int left = e->set.max_new_tokens - e->columns;
    if (n > left) n = left;
    for (int b = 0; b < e->batch; b++) {
        const engine_sequence *s = &e->sequence[b];
        if (s->done) continue;
        int room = e->set.context - s->length;
        if (room == 0)
            return error_set(
                err,
                "sequence %d has %d tokens, the whole context: open the engine with a "
                "larger context",
                b, s->length);
        if (n > room) n = room;
    }
    return n;
}

int rg_step(rg_engine *e, int n, wb_error *err)
{
    int continuing = 0, sent = 0, taken = 0;
    for (int b = 0; b < e->batch; b++)
        continuing += !e->sequence[b].done;
    if (continuing == 0 || n <= 0) return continuing;
    n = steps_with_room(e, n, err);
    if (n < 0) return -1;
    while (sent < n && continuing > 0) {
        decoder_steps(&e->d, 1);
        engine_send(e, e->columns + sent++);
        if (sent - taken == 2) continuing = engine_take(e, e->columns + taken++);
    }
    while (taken < sent)
        continuing = engine_take(e, e->columns + taken++);
    e->columns += sent;
    engine_count_bytes(e);
    return continuing;
}
