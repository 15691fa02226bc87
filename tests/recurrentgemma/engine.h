/* engine.h - for tests/recurrentgemma/engine.c and limits.c: engines on a small model. */
#ifndef TEST_ENGINE_H
#define TEST_ENGINE_H
#include "../../recurrentgemma/engine/engine.h"
#include "../farthest.h"
#include "../tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { W = 16, V = 256, LONG = 45, MORE = 30, SEED = 91 };

static const char *folder;
static int text[200];
static wb_error err;

WB_INLINE rg_settings greedy(void)
{
    rg_settings s = rg_defaults();
    s.context = 160, s.chunk = 64, s.max_new_tokens = 60, s.stop_count = 0, s.seed = SEED;
    return s;
}

WB_INLINE rg_engine *open_with(rg_settings s)
{
    rg_engine *e = rg_open(folder, &s, &err);
    if (e) return e;
    printf("not ok - %s\n", err.text);
    exit(1);
}

WB_INLINE int sure(int rc)
{
    if (rc >= 0) return rc;
    printf("not ok - %s\n", err.text);
    exit(1);
}

WB_INLINE int
prefill(rg_engine *e, const int *tokens, int n)  // of an engine with one sequence
{
    return sure(rg_prefill(e, &tokens, &n, &err));
}

typedef struct scores {
    float z[3][200][V];
    int calls, end_at; /* end_at: the call that refuses; 0: none */
} scores;

WB_INLINE int keep(void *user, int row, int at, const float *logits, int vocab)
{
    scores *s = user;
    memcpy(s->z[row][at], logits, (size_t)vocab * sizeof *logits);
    if (++s->calls != s->end_at) return 0;
    error_set(&err, "enough");
    return 1;
}

static scores parts; /* large: not on the stack */

WB_INLINE void score(rg_engine *e, const int *tokens, int n, scores *s)
{
    *s = (scores){0};
    sure(rg_score(e, &tokens, &n, keep, s, &err));
}

/* The model's folder, and tokens of a fixed seed. */
WB_INLINE void begin_tests(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : "tests/recurrentgemma/tiny";
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t r[4];
        wb_random(r, SEED, i, 0, 0, 0);
        text[i] = (int)(r[0] % V);
    }
}

#endif
