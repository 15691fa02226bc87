/* engine_step.c - rg_step: token by token, and the account of what each row did.
 *
 * Whether all rows have ended is only known on the device. Waiting for it behind each
 * step would leave the device idle, so a step is sent while the one before it runs: by
 * the time the end of all rows is seen, exactly one step more is on its way, which reads
 * the last one's stop token.
 */
#include "engine.h"

/* Row b behind e->steps steps, of which it drew in as many as h_drawn says (and one token
 * from rg_prefill). */
static void account(rg_engine *e, int b)
{
    engine_row *r = &e->row[b];
    const int *out = e->h_out + (size_t)b * e->set.drawn;
    int behind = e->steps - (e->h_drawn[b] - 1);  // its end
    if (r->drawn == 0 && r->done) {  // nothing to read in rg_prefill, or reset since
        r->spoiled |= e->steps > 0 && r->read > 0;
        return;
    }
    for (; r->drawn < e->h_drawn[b]; r->drawn++)
        r->text[r->have++] = out[r->drawn];
    r->read = behind > 0 ? r->have : r->have - 1;
    r->spoiled |= behind > 1;
    r->done = e->h_done[0][b] || r->drawn == e->set.drawn;
}

int engine_collect(rg_engine *e, int n)
{
    size_t row = (size_t)(n ? n : 1) * sizeof(int), B = (size_t)e->B;
    size_t pitch = (size_t)e->set.drawn * sizeof(int);
    int first = n ? e->steps + 1 : 0, going = 0;
    cudaStream_t s = e->stream;
    CUDA_CHECK(cudaMemcpy2DAsync(
        e->h_out + first, pitch, e->d.out + first, pitch, row, B, cudaMemcpyDeviceToHost,
        s));
    CUDA_CHECK(cudaMemcpyAsync(
        e->h_drawn, e->d.drawn, B * sizeof(int), cudaMemcpyDeviceToHost, s));
    CUDA_CHECK(cudaMemcpyAsync(
        e->h_done[0], e->d.done, B * sizeof(int), cudaMemcpyDeviceToHost, s));
    CUDA_CHECK(cudaStreamSynchronize(s));
    e->steps += n;
    for (int b = 0; b < e->B; b++) {
        account(e, b);
        going += !e->row[b].done;
    }
    return going;
}

static void send_step(rg_engine *e, int i)
{
    decoder_step(&e->d);
    CUDA_CHECK(cudaMemcpyAsync(
        e->h_done[i % 2], e->d.done, (size_t)e->B * sizeof(int), cudaMemcpyDeviceToHost,
        e->stream));
    CUDA_CHECK(cudaEventRecord(e->ended[i % 2], e->stream));
}

static bool all_ended(const rg_engine *e, int i)  // behind step i, which may still run
{
    CUDA_CHECK(cudaEventSynchronize(e->ended[i % 2]));
    for (int b = 0; b < e->B; b++)
        if (!e->h_done[i % 2][b]) return false;
    return true;
}

// Steps that every row has room for, at most n; -1: a row has none.
static int steps_with_room(const rg_engine *e, int n, wb_error *err)
{
    int left = e->set.drawn - 1 - e->steps;
    if (n > left) n = left;
    for (int b = 0; b < e->B; b++) {
        const engine_row *r = &e->row[b];
        if (r->done) continue;
        int room = e->set.context - r->have;
        if (room == 0)
            return error_set(
                err,
                "row %d has %d tokens, the whole context: open the engine with a larger "
                "context",
                b, r->have);
        if (n > room) n = room;
    }
    return n;
}

int rg_step(rg_engine *e, int n, wb_error *err)
{
    int going = 0, sent = 0;
    for (int b = 0; b < e->B; b++)
        going += !e->row[b].done;
    if (going == 0 || n <= 0) return going;
    n = steps_with_room(e, n, err);
    if (n < 0) return -1;
    for (; sent < n; sent++) {
        if (sent >= 2 && all_ended(e, sent - 2)) break;
        send_step(e, sent);
    }
    return engine_collect(e, sent);
}
