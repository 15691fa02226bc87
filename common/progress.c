/* progress.c - see progress.h. */
#include "progress.h"

#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
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

// Of the terminal at this moment: it may have changed since the last line.
static int columns(const progress *p)
{
    struct winsize size;
    bool known = ioctl(fileno(p->out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return known ? size.ws_col : 80;
}

enum { STEP, LOSS, VAL, RATE, LEFT, FIELDS, FIELD_ROOM = 48 };

// Leaves out what does not fit, the least important first; the width of the rest.
static int fit(char field[FIELDS][FIELD_ROOM], int room)
{
    static const int dropped[] = {RATE, VAL, LEFT, LOSS};
    int width = 0;
    for (int i = 0; i < FIELDS; i++)
        width += (int)strlen(field[i]);
    for (size_t k = 0; k < sizeof dropped / sizeof *dropped && width > room; k++) {
        width -= (int)strlen(field[dropped[k]]);
        field[dropped[k]][0] = 0;
    }
    return width;
}

// " [####......]" in the columns that the fields leave, or nothing.
static void draw_bar(char *out, int room, long step, long steps)
{
    enum { LEAST = 5, MOST = 20, FRAME = 3 };
    int cells = room - FRAME < MOST ? room - FRAME : MOST;
    out[0] = 0;
    if (cells < LEAST) return;
    int filled = steps > 0 ? (int)(cells * step / steps) : 0;
    strcpy(out, " [");
    for (int i = 0; i < cells; i++)
        out[2 + i] = i < filled ? '#' : '.';
    strcpy(out + 2 + cells, "]");
}

static void draw(progress *p, char field[FIELDS][FIELD_ROOM], long step)
{
    char line[FIELDS * FIELD_ROOM], bar[40];
    int room = columns(p) - 1;  // a character in the last column may wrap
    draw_bar(bar, room - fit(field, room), step, p->steps);
    int width = snprintf(
        line, sizeof line, "%s%s%s%s%s%s", field[STEP], bar, field[LOSS], field[VAL],
        field[RATE], field[LEFT]);
    int old = p->width < room ? p->width : room;
    fprintf(p->out, "\r%-*.*s", old, room, line);  // blanks overwrite a longer line
    p->width = width < room ? width : room;
}

void progress_update(
    progress *p, long step, double loss, double val, double tokens_per_second, bool now)
{
    double time = seconds_now();
    if (!now && time - p->drawn < (p->terminal ? 0.1 : 30)) return;
    p->drawn = time;

    char field[FIELDS][FIELD_ROOM] = {0}, text[40];
    snprintf(field[STEP], FIELD_ROOM, "step %ld/%ld", step, p->steps);
    if (!isnan(loss)) snprintf(field[LOSS], FIELD_ROOM, "  loss %.3f", loss);
    if (!isnan(val)) snprintf(field[VAL], FIELD_ROOM, "  val %.3f", val);
    if (tokens_per_second > 0)
        snprintf(field[RATE], FIELD_ROOM, "  %.0f tokens/s", tokens_per_second);
    if (step > p->first && step < p->steps) {
        double left =
            (time - p->started) / (double)(step - p->first) * (double)(p->steps - step);
        clock_text(text, sizeof text, left);
        snprintf(field[LEFT], FIELD_ROOM, "  %.38s left", text);
    }
    if (p->terminal)
        draw(p, field, step);
    else
        fprintf(
            p->out, "%s%s%s%s%s\n", field[STEP], field[LOSS], field[VAL], field[RATE],
            field[LEFT]);
    fflush(p->out);
}

void progress_clear(progress *p)
{
    int room = p->terminal ? columns(p) - 1 : 0;
    int width = p->width < room ? p->width : room;
    if (width) fprintf(p->out, "\r%*s\r", width, "");
    p->width = 0;
}

void progress_end(progress *p)
{
    if (p->terminal && p->width) fputc('\n', p->out);
    p->width = 0;
    fflush(p->out);
}
