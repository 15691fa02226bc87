/* devices.c - see devices.h. */
#include "devices.h"

#include "cores.h"
#include "cuda_check.h"
#include "output.h"
#include "stop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_DEVICES = 64 };

typedef struct part { /* of one process */
    pid_t process;
    int pipe; /* its output, to read */
    bool failed;
    wb_error err;
    session counted;
    rg_info info;
    double number; /* of devices_largest */
} part;

typedef struct shared {
    pthread_barrier_t barrier;
    part part[MAX_DEVICES];
} shared;

static shared *all; /* memory of all processes; NULL: one process */
static int my_index, my_count = 1;

int devices_index(void)
{
    return my_index;
}

int devices_count(void)
{
    return my_count;
}

int devices_share(int things, int *first)
{
    long begin = (long)things * my_index / my_count;
    *first = (int)begin;
    return (int)((long)things * (my_index + 1) / my_count - begin);
}

double devices_largest(double mine)
{
    if (!all) return mine;
    all->part[my_index].number = mine;
    pthread_barrier_wait(&all->barrier);
    for (int i = 0; i < my_count; i++)
        if (all->part[i].number > mine) mine = all->part[i].number;
    pthread_barrier_wait(&all->barrier);  // before the numbers change again
    return mine;
}

/* --- a process ---------------------------------------------------------------------- */

// The only GPU that it sees is the index-th of those that this program may use.
static int take_device(wb_error *err)
{
    char number[32], threads[16];
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int found = 0, cores = cores_usable(INT_MAX) / my_count;
    snprintf(number, sizeof number, "%d", my_index);
    if (visible && *visible) {
        for (int i = 0; i < my_index && visible; i++)
            visible = strchr(visible, ',') ? strchr(visible, ',') + 1 : NULL;
        if (!visible) visible = "none";
        snprintf(number, sizeof number, "%.*s", (int)strcspn(visible, ","), visible);
    }
    setenv("CUDA_VISIBLE_DEVICES", number, 1);
    snprintf(threads, sizeof threads, "%d", cores < 1 ? 1 : cores);
    setenv("WB_THREADS", threads, 0);
    if (cudaGetDeviceCount(&found) == cudaSuccess && found > 0) return 0;
    return error_set(
        err, "not found: --devices %d is more than nvidia-smi lists", my_count);
}

static _Noreturn void be_process(
    session *s, int index, int (*work)(session *s, void *context, wb_error *err),
    void *context)
{
    part *mine = &all->part[index];
    my_index = index;
    int rc = take_device(&mine->err);
    if (!rc) rc = work(s, context, &mine->err);
    mine->failed = rc != 0;
    mine->counted = *s;
    if (s->info) mine->info = *s->info;
    session_close(s);
    fflush(stdout);
    _exit(rc ? 1 : 0);
}

// Its standard output is the pipe.
static int start_process(
    session *s, int index, int (*work)(session *s, void *context, wb_error *err),
    void *context, wb_error *err)
{
    int ends[2];
    if (pipe(ends)) return error_set(err, "cannot create a pipe: %s", strerror(errno));
    fflush(stdout);
    pid_t p = fork();
    if (p < 0) return error_set(err, "cannot start a process: %s", strerror(errno));
    if (p == 0) {
        stop_at_once(true);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]), close(ends[1]);
        be_process(s, index, work, context);
    }
    close(ends[1]);
    all->part[index].process = p, all->part[index].pipe = ends[0];
    return 0;
}

/* --- all of them -------------------------------------------------------------------- */

// Whether a process has ended with an error, which goes to err. how: WNOHANG, or 0 to wait
// for all. After Ctrl-C they may end as they like.
static int any_fails(int n, bool *ended, int how, wb_error *err)
{
    for (int i = 0; i < n; i++) {
        part *p = &all->part[i];
        int status;
        if (ended[i] || waitpid(p->process, &status, how) != p->process) continue;
        ended[i] = true;
        if (stop_signal()) continue;
        if (WIFSIGNALED(status))
            return error_set(
                err, "GPU %d: its process was ended by signal %d", i, WTERMSIG(status));
        if (WEXITSTATUS(status))
            return error_set(
                err, "GPU %d: %.900s", i,
                p->failed ? p->err.text : "its process has ended");
    }
    return 0;
}

static int pass_on(int n, bool *ended, wb_error *err)
{
    char data[1 << 16];
    for (int i = 0; i < n;) {
        struct pollfd in = {.fd = all->part[i].pipe, .events = POLLIN};
        enum { WAIT_MS = 200 };
        if (any_fails(n, ended, WNOHANG, err)) return -1;
        if (poll(&in, 1, WAIT_MS) <= 0) continue;
        ssize_t bytes = read(in.fd, data, sizeof data);
        if (bytes > 0 && output_write(data, (size_t)bytes, err)) return -1;
        if (bytes == 0) i++;
    }
    return any_fails(n, ended, 0, err);
}

static void add_counts(session *s, int n)
{
    for (int i = 0; i < n; i++) {
        const session *p = &all->part[i].counted;
        s->prefilled += p->prefilled, s->sampled += p->sampled, s->stepped += p->stepped;
        if (p->prefill_seconds > s->prefill_seconds)
            s->prefill_seconds = p->prefill_seconds;
        if (p->step_seconds > s->step_seconds) s->step_seconds = p->step_seconds;
    }
    static rg_info first;
    first = all->part[0].info;
    if (all->part[0].counted.info) s->info = &first;
}

static int share_memory(int n, wb_error *err)
{
    pthread_barrierattr_t a;
    all = mmap(
        NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
        all = NULL;
        return error_set(err, "no memory for %d processes", n);
    }
    pthread_barrierattr_init(&a);
    pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&all->barrier, &a, (unsigned)n);
    my_count = n;
    return 0;
}

int devices_run(
    session *s, int n, int (*work)(session *s, void *context, wb_error *err),
    void *context, wb_error *err)
{
    bool ended[MAX_DEVICES] = {0};
    if (n == 1) return work(s, context, err);
    if (share_memory(n, err)) return -1;
    stop_at_once(false);
    int rc = 0, started = 0;
    for (; started < n && !rc; started += !rc)
        rc = start_process(s, started, work, context, err);
    if (!rc) rc = pass_on(n, ended, err);
    for (int i = 0; i < started; i++) {
        if (!ended[i]) kill(all->part[i].process, SIGKILL);
        if (!ended[i]) waitpid(all->part[i].process, NULL, 0);
        close(all->part[i].pipe);
    }
    if (!rc) add_counts(s, n);
    munmap(all, sizeof *all);
    all = NULL, my_count = 1;
    return rc;
}
