/* train.c - `tinylm train`: the steps of a run, its measurements and checkpoints.
 * Files of a run, in its folder:
 *     best/       checkpoint with the lowest validation loss
 *     last/       the newest checkpoint, with training.safetensors to resume from
 *     previous/   the run that --overwrite replaced
 *     train.csv   step, loss, val, lr, grad_norm, tokens_per_s, loss_scale, machine
 *     train.tfevents   the same for TensorBoard
 */
#include "kernels.h"
#include "run.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

static void catch_signals(void)
{
    struct sigaction stop = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGUSR1, &stop, NULL);  // which mpirun forwards
    signal(SIGXFSZ, SIG_IGN);         // a write beyond a limit returns an error instead
}

/* --- the curve ---------------------------------------------------------------------- */

// Reads the state back: apart from evaluations and checkpoints, the only place where the
// host waits for the device.
static int log_step(run *r, double val)
{
    const wb_train *s = trainer_read(&r->t);
    const ranks *k = &r->ranks;
    double tokens = (double)r->t.recipe.accum * r->m.rows * k->size;
    double loss = ranks_sum(k, (double)s->loss), now = seconds_now();
    double rate = (s->step - r->since_step) * tokens / (now - r->since);
    enum { LOWEST = -20 };  // the scale began at 1 or more; each skipped step halves it
    if (s->loss_scale < ldexpf(1, LOWEST))
        return error_set(
            &r->err,
            "step %u: the gradients have not been finite for many steps, the run has "
            "diverged: use a lower --lr, or resume from an older checkpoint",
            s->step);
    r->loss = loss / tokens;
    if (!isnan(val)) r->val = val, r->val_step = s->step;
    if (!k->rank && curve_add(&r->curve, s, r->loss, val, rate, &r->err)) return -1;
    if (!r->o.gen.quiet)
        progress_update(&r->bar, s->step, r->loss, r->val, rate, !isnan(val));
    r->since = seconds_now(), r->since_step = s->step;
    return 0;
}

/* --- checkpoints -------------------------------------------------------------------- */

static int save(run *r, const char *name, bool training)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%s", r->o.out, name);
    if (!r->ranks.rank &&
        checkpoint_save(&r->m, &r->text.tokenizer, folder, r->scratch, &r->err))
        return -1;
    if (!training) return 0;
    /* Last: a run that is killed before this resumes at the step before, and saves the
     * weights again. The other way round, weights of the last step could be missing. */
    r->state.train = *trainer_read(&r->t);
    return training_save(&r->m, &r->state, folder, r->scratch, &r->err);
}

static int evaluate(run *r)
{
    trainer_read(&r->t);  // earlier steps must not count as evaluation
    double before = seconds_now();
    double val = evaluate_text(
        &r->m, r->text.token + r->text.train_length,
        r->text.length - r->text.train_length);
    r->since += seconds_now() - before;
    if (log_step(r, val)) return -1;
    if (!(val < r->state.best)) return 0;
    r->state.best = val, r->state.best_step = r->t.step;
    return save(r, "best", false);
}

/* --- steps -------------------------------------------------------------------------- */

static bool every(uint32_t step, long n)
{
    return n > 0 && step % n == 0;
}

// The signal that any rank has received: all stop after the same step.
static bool stops(run *r)
{
    stop_signal = ranks_largest(&r->ranks, stop_signal);
    return stop_signal != 0;
}

static int steps(run *r)
{
    const options *o = &r->o;
    long save_every = o->save_every ? o->save_every : o->eval_every;
    uint32_t end =
        (uint32_t)(o->stop_at && o->stop_at < o->steps ? o->stop_at : o->steps);
    while (r->t.step < end && !stops(r)) {
        trainer_step(&r->t);
        uint32_t step = r->t.step;
        bool last = step == o->steps;
        if (last || every(step, o->eval_every)) {
            if (evaluate(r)) return -1;
        } else if (every(step, o->log_every)) {
            if (log_step(r, NAN)) return -1;
        }
        if ((step == end || every(step, save_every)) && save(r, "last", true)) return -1;
    }
    if (stop_signal) return save(r, "last", true);
    return 0;
}

static int finish(run *r)
{
    if (stop_signal) {
        printf(
            "stopped at step %u and saved; continue with --resume (make tinylm-train "
            "ARGS=--resume)\n",
            r->t.step);
        return 128 + stop_signal;
    }
    if (isfinite(r->state.best))
        printf(
            "best   val loss %.4f nats/token at step %ld: %s/best\n", r->state.best,
            r->state.best_step, r->o.out);
    printf("last   step %u of %ld", r->t.step, r->o.steps);
    if (r->val_step == r->t.step && isfinite(r->val)) printf(", val loss %.4f", r->val);
    printf(": %s/last\n", r->o.out);
    if (r->m.config.dtype == WB_F16) {
        const wb_train *s = trainer_read(&r->t);
        printf(
            "scale  loss scale %g, %u of %u steps skipped\n", (double)s->loss_scale,
            s->step - s->updates, s->step);
    }
    return 0;
}

static int complain_of(const run *r)
{
    wb_error named = r->err;
    if (r->ranks.rank) error_set(&named, "rank %d: %s", r->ranks.rank, r->err.text);
    return complain(&named, r->status);
}

// Whether any rank has an error. The first that has one says so.
static bool any_fails(run *r, int rc)
{
    int size = r->ranks.size, rank = r->ranks.rank;
    int first = size - ranks_largest(&r->ranks, rc ? size - rank : 0);
    if (first == rank) complain_of(r);
    return first < size;
}

static int train(run *r)
{
    wb_say_kernels(stdout, r->o.gen.kernels, r->o.gen.quiet);
    if (!r->o.gen.quiet && run_print(r)) return -1;
    if (r->t.step >= r->o.steps)
        printf(
            "%s is at step %u already: raise --steps to continue, or leave out "
            "--resume\n",
            r->o.out, r->t.step);
    catch_signals();
    progress_begin(&r->bar, stderr, r->t.step, r->o.steps);
    r->since = seconds_now(), r->since_step = r->t.step;
    int rc = steps(r);
    progress_end(&r->bar);
    return rc;
}

int train_main(int argc, char **argv)
{
    static run r;
    r.loss = r.val = NAN;
    r.status = FAILED;
    int rc = ranks_open(&r.ranks, &r.err);
    if (r.ranks.rank && !freopen("/dev/null", "w", stdout)) return FAILED;
    if (any_fails(&r, rc) || any_fails(&r, run_open(&r, argc, argv)) ||
        any_fails(&r, run_begin(&r))) {
        ranks_close(&r.ranks);
        return r.status;
    }
    if (train(&r)) return complain_of(&r);  // mpirun ends the other ranks
    rc = finish(&r);
    curve_close(&r.curve);
    trainer_close(&r.t);
    model_destroy(&r.m);
    corpus_free(&r.text);
    free(r.state.options);
    free(r.scratch);
    ranks_close(&r.ranks);
    return rc;
}
