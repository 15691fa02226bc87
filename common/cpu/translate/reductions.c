/* reductions.c - loops that add up a warp (see include/wbcpu/reduction.h). */
#include "tokens.h"

void rewrite_reductions(struct source *s) { (void)s; }
