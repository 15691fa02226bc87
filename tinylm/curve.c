/* curve.c - see curve.h. */
#include "curve.h"
#include "events.h"
#include "machine.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char csv_head[] =
    "step,loss,val,lr,grad_norm,tokens_per_s,loss_scale,machine\n";

// A new file, or the old one without the lines after the step that the run resumes from.
// One that cannot be read stays as it is.
static FILE *open_csv(const char *folder, bool resume, uint32_t step, wb_error *err)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/train.csv", folder);
    size_t bytes;
    char *old = NULL;
    if (resume && file_read_optional(&old, path, 1u << 30, &bytes, err)) return NULL;
    char *keep = malloc(sizeof csv_head + (old ? bytes : 0)), *end = keep;
    if (!keep) {
        error_set(err, "%s: no memory", path);
        free(old);
        return NULL;
    }
    end += sprintf(end, "%s", csv_head);
    for (char *line = old ? strchr(old, '\n') : NULL; line && *++line;) {
        char *next = strchr(line, '\n');
        if (!next) break;  // cut off by a kill
        if (strtoul(line, NULL, 10) <= step) {
            memcpy(end, line, (size_t)(next - line) + 1);
            end += next - line + 1;
        }
        line = next;
    }
    int rc = file_write(path, keep, (size_t)(end - keep), err);
    free(keep);
    free(old);
    FILE *f = rc ? NULL : fopen(path, "a");
    if (!rc && !f) error_set(err, "%s: %s", path, strerror(errno));
    return f;
}

int curve_open(curve *c, const char *folder, bool resume, uint32_t step, wb_error *err)
{
    *c = (curve){0};
    snprintf(c->folder, sizeof c->folder, "%s", folder);
    c->csv = open_csv(folder, resume, step, err);
    if (c->csv) c->events = events_open(folder, resume, step, err);
    return c->events ? 0 : -1;
}

static int write_line(FILE *f, const wb_train *s, double loss, double val, double rate)
{
    fprintf(f, "%u,%.6f,", s->step, loss);
    if (!isnan(val)) fprintf(f, "%.6f", val);
    fprintf(
        f, ",%.6g,%.6g,%.0f,%g,%s\n", (double)s->lr, (double)s->grad_norm, rate,
        (double)s->loss_scale, machine_name());
    return fflush(f);
}

int curve_add(
    curve *c, const wb_train *s, double loss, double val, double rate, wb_error *err)
{
    const scalar scalars[] = {
        {"loss/train", loss},   {"loss/val", val},
        {"lr", (double)s->lr},  {"grad_norm", (double)s->grad_norm},
        {"tokens_per_s", rate}, {"loss_scale", (double)s->loss_scale},
    };
    const char *name = "train.csv";
    int rc = write_line(c->csv, s, loss, val, rate);
    if (!rc) {
        name = "train.tfevents";
        rc = events_add(c->events, s->step, scalars, sizeof scalars / sizeof *scalars);
    }
    return rc ? error_set(err, "%s/%s: %s", c->folder, name, strerror(errno)) : 0;
}

void curve_close(curve *c)
{
    if (c->csv) fclose(c->csv);
    if (c->events) fclose(c->events);
    *c = (curve){0};
}
