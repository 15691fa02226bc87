/* progress.c - see progress.h. */
#include "progress.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_begin(progress *p, FILE *out, long first, long steps)
{
    double now = seconds_now();
    *p = (progress){
        .out = out,
        .terminal = isatty(fileno(out)),
        .first = first,
        .steps = steps,
        .started = now,
        .drawn = now,
    };
}

// "0:07", "12:34" or "3:02:10"
static void clock_text(char *out, size_t room, double seconds)
{
    long s = (long)(seconds + 0.5);
    if (s >= 3600)
        snprintf(out, room, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, room, "%ld:%02ld", s / 60, s % 60);
}

void progress_update(
    progress *p, long step, double loss, double val, double tokens_per_second, bool now)
{
    double time = seconds_now();
    if (!now && time - p->drawn < (p->terminal ? 0.1 : 30)) return;
    p->drawn = time;

    char line[200], bar[21], text[40];
    size_t at = 0;
    int filled = p->steps > 0 ? (int)(20 * step / p->steps) : 0;
    for (int i = 0; i < 20; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[20] = 0;
    at += (size_t)snprintf(line, sizeof line, "step %ld/%ld", step, p->steps);
    if (p->terminal) at += (size_t)snprintf(line + at, sizeof line - at, " [%s]", bar);
    if (!isnan(loss))
        at += (size_t)snprintf(line + at, sizeof line - at, "  loss %.3f", loss);
    if (!isnan(val))
        at += (size_t)snprintf(line + at, sizeof line - at, "  val %.3f", val);
    if (tokens_per_second > 0)
        at += (size_t)snprintf(
            line + at, sizeof line - at, "  %.0f tokens/s", tokens_per_second);
    if (step > p->first && step < p->steps) {
        double left =
            (time - p->started) / (double)(step - p->first) * (double)(p->steps - step);
        clock_text(text, sizeof text, left);
        at += (size_t)snprintf(line + at, sizeof line - at, "  %s left", text);
    }
    if (p->terminal)
        fprintf(p->out, "\r%-*s", p->width, line);  // blanks overwrite a longer line
    else
        fprintf(p->out, "%s\n", line);
    p->width = (int)at;
    fflush(p->out);
}

void progress_clear(progress *p)
{
    if (p->terminal && p->width) fprintf(p->out, "\r%*s\r", p->width, "");
    p->width = 0;
}

void progress_end(progress *p)
{
    if (p->terminal && p->width) fputc('\n', p->out);
    p->width = 0;
    fflush(p->out);
}
