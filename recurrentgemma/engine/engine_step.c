/* engine_step.c - rg_step: token by token, and the account of what each row did.
 *
 * What a row drew comes to the host behind each step, on a stream of its own: the next step
 * does not wait for the copy. Nor does the host wait for a step before it sends the next
 * one; it would leave the device idle. It sends one step ahead: by the time the end of all
 * rows is seen, exactly one more is on its way, which reads the last one's stop token.
 */
#include "engine.h"

static bool ends_row(const rg_engine *e, int token)
{
    for (int i = 0; i < e->d.set.stops; i++)
        if (e->stop[i] == token) return true;
    return false;
}

void engine_send(rg_engine *e, int column)
{
    size_t pitch = (size_t)e->set.drawn * sizeof(int);
    int i = column % 2;
    CUDA_CHECK(cudaEventRecord(e->drawn[i], e->stream));
    CUDA_CHECK(cudaStreamWaitEvent(e->copies, e->drawn[i], 0));
    CUDA_CHECK(cudaMemcpy2DAsync(
        e->h_out + column, pitch, e->d.out + column, pitch, sizeof(int), (size_t)e->B,
        cudaMemcpyDeviceToHost, e->copies));
    CUDA_CHECK(cudaEventRecord(e->here[i], e->copies));
}

// A step of the batch behind row r's end, or of a row that rests.
static void step_behind(engine_row *r)
{
    if (r->drawn > 0 && r->read < r->have)
        r->read = r->have;  // its stop token
    else if (r->read > 0)
        r->spoiled = true;
}

int engine_take(rg_engine *e, int column)
{
    int going = 0;
    CUDA_CHECK(cudaEventSynchronize(e->here[column % 2]));
    for (int b = 0; b < e->B; b++) {
        engine_row *r = &e->row[b];
        if (r->done) {
            if (column > 0) step_behind(r);
            continue;
        }
        int token = e->h_out[(size_t)b * e->set.drawn + column];
        r->read = r->have;  // the token before it; rg_prefill has read all
        r->text[r->have++] = token;
        r->drawn++;
        r->done = ends_row(e, token) || r->drawn == e->set.drawn;
        going += !r->done;
    }
    return going;
}

// Steps that every row has room for, at most n; -1: a row has none.
static int steps_with_room(const rg_engine *e, int n, wb_error *err)
{
    int left = e->set.drawn - e->columns;
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
    int going = 0, sent = 0, taken = 0;
    for (int b = 0; b < e->B; b++)
        going += !e->row[b].done;
    if (going == 0 || n <= 0) return going;
    n = steps_with_room(e, n, err);
    if (n < 0) return -1;
    while (sent < n && going > 0) {
        decoder_step(&e->d);
        engine_send(e, e->columns + sent++);
        if (sent - taken == 2) going = engine_take(e, e->columns + taken++);
    }
    while (taken < sent)
        going = engine_take(e, e->columns + taken++);
    e->columns += sent;
    return going;
}
