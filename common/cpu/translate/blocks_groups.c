/* blocks_groups.c - a kernel's cooperative groups as barriers, indices and shuffles:
 *
 *     cg::thread_block b = cg::this_thread_block();
 *     cg::thread_block_tile<32> t = cg::tiled_partition<32>(b);
 *     b.sync()                  __syncthreads()
 *     cg::this_grid().sync()    wbcpu_grid_sync(), once for each block
 *     b.thread_rank()           (threadIdx.x + blockDim.x * (...))
 *     t.shfl_down(v, 1)         __shfl_down_sync(mask of the tile, v, 1, 32)
 *     cg::reduce(t, v, cg::plus<float>())     a loop of shuffles, before the statement
 *
 * Any other use of a group leaves the kernel as it is, because then its name is unknown. */
#include "blocks_flat.h"

#include <stdlib.h>
#include <string.h>

#define RANK                                                                             \
    "( threadIdx . x + blockDim . x * ( threadIdx . y + blockDim . y * threadIdx . z ) ) "
#define GRID_RANK                                                                          \
    "( ( blockIdx . x + 1ull * gridDim . x * ( blockIdx . y + gridDim . y * blockIdx . z " \
    ") ) * " SIZE "+ " RANK ") "
#define GRID_SIZE "( 1ull * gridDim . x * gridDim . y * gridDim . z * " SIZE ") "
#define SIZE "( blockDim . x * blockDim . y * blockDim . z ) "

/* --- which groups there are --------------------------------------------------------- */

void add_group(struct flat *f, struct scope *c, int name, int lanes)
{
    if (c->group_count == MAX_GROUPS) {
        give_up(f);
        return;
    }
    c->groups[c->group_count].name = name;
    c->groups[c->group_count++].lanes = lanes;
    f->changed = 1;
}

int group_of(struct flat *f, int first, int end, const struct scope *c)
{
    if (!is_name(f->s, first) || next(f->s, first) < end) return -1;
    for (int n = c->group_count - 1; n >= 0; n--)
        if (same_text(f->s, c->groups[n].name, first)) return n;
    return -1;
}

/* The name after ns:: or cg:: */
static int past_space(const struct source *s, int i)
{
    int n = next(s, i);
    return token_in(s, i, "cg cooperative_groups") && is(s, n, ":") && is(s, n + 1, ":")
               ? next(s, n + 1)
               : i;
}

/* What follows the name of a group, or this_thread_block(), at i; -1 if it is neither. */
static int past_group(struct flat *f, int i, const struct scope *c)
{
    const struct source *s = f->s;
    int call = past_space(s, i), open = next(s, call);
    if (is(s, call, "this_thread_block") && is(s, open, "("))
        return next(s, next(s, open));
    return group_of(f, i, next(s, i), c) < 0 ? -1 : next(s, i);
}

/* type name = this_thread_block(); type name = tiled_partition<32>(group); */
int flat_group_declaration(struct flat *f, int i, int end, struct scope *c)
{
    const struct source *s = f->s;
    int name = -1, words = 0;
    for (; i < end && !is(s, i, "="); i = next(s, i)) {
        if (is(s, i, "(") || is(s, i, "[") || is(s, i, "{")) return 0;
        name = i, words++;
    }
    int call = past_space(s, next(s, i)), open = next(s, call);
    if (words < 2 || !is_name(s, name)) return 0;
    if (token_in(s, call, "this_thread_block this_grid")) {
        if (!is(s, open, "(") || next(s, next(s, open)) != end) return 0;
        add_group(f, c, name, is(s, call, "this_grid") ? GRID : 0);
        return 1;
    }
    int size = next(s, open), group = next(s, next(s, next(s, size)));
    if (!is(s, call, "tiled_partition") || !is(s, open, "<")) return 0;
    int lanes = value_at(s, size), after = past_group(f, group, c);
    if (after < 0 || next(s, after) != end) return 0;
    if (lanes < 1 || lanes > 32 || lanes & (lanes - 1)) return 0;
    add_group(f, c, name, lanes);
    return 1;
}

static void put_sync(struct flat *f, int lanes)
{
    put_words(
        f, lanes == GRID ? "wbcpu_grid_sync ( )"
           : lanes       ? "__syncwarp ( )"
                         : "__syncthreads ( )");
}

/* --- their methods ------------------------------------------------------------------ */

/* The lanes of the warp that are the tile */
static void put_mask(struct flat *f, int lanes)
{
    if (lanes == 32) {
        put_words(f, "0xffffffffu ");
        return;
    }
    put_number(f, "( %du < < ( " RANK "& ", (1 << lanes) - 1);
    put_number(f, "%d ) )", 31 & ~(lanes - 1));
}

/* Puts __shfl_down_sync(mask, arguments, lanes); returns what follows the call. */
static int put_collective(
    struct flat *f, const char *name, int open, int lanes, int shuffles, struct scope *c)
{
    int close = mate(f->s, open);
    put_words(f, name);
    put_words(f, "(");
    put_mask(f, lanes);
    put_words(f, ",");
    flat_tokens(f, next(f->s, open), close, c);
    if (shuffles) put_number(f, ", %d", lanes);
    put_words(f, ")");
    return next(f->s, close);
}

/* group.name() for a tile or the block; returns what follows, or i. */
static int flat_method(struct flat *f, int i, int lanes, struct scope *c)
{
    static const struct {
        const char *name, *call;
        int shuffles;
    } of_tiles[] = {
        {"shfl", "__shfl_sync", 1},
        {"shfl_up", "__shfl_up_sync", 1},
        {"shfl_down", "__shfl_down_sync", 1},
        {"shfl_xor", "__shfl_xor_sync", 1},
        {"any", "__any_sync", 0},
        {"all", "__all_sync", 0},
    };
    const struct source *s = f->s;
    int method = next(s, next(s, i)), open = next(s, method);
    if (!is(s, next(s, i), ".") || !is(s, open, "(") || mate(s, open) < 0) return i;
    for (size_t n = 0; lanes && lanes != GRID && n < sizeof of_tiles / sizeof *of_tiles;
         n++)
        if (is(s, method, of_tiles[n].name))
            return put_collective(
                f, of_tiles[n].call, open, lanes, of_tiles[n].shuffles, c);
    if (lanes == 32 && is(s, method, "ballot"))
        return put_collective(f, "__ballot_sync", open, lanes, 0, c);
    int after = next(s, mate(s, open)), axis = next(s, after);
    if (next(s, open) != mate(s, open)) return i;
    if (is(s, method, "sync"))
        put_sync(f, lanes);
    else if (is(s, method, "thread_rank") && lanes == GRID)
        put_words(f, GRID_RANK);
    else if (token_in(s, method, "size num_threads") && lanes == GRID)
        put_words(f, GRID_SIZE);
    else if (lanes == GRID)
        return i;
    else if (is(s, method, "thread_rank") && !lanes)
        put_words(f, RANK);
    else if (is(s, method, "thread_rank"))
        put_number(f, "( " RANK "%% %d )", lanes);
    else if (token_in(s, method, "size num_threads") && !lanes)
        put_words(f, SIZE);
    else if (token_in(s, method, "size num_threads"))
        put_number(f, "%du", lanes);
    else if (is(s, method, "meta_group_rank") && lanes)
        put_number(f, "( " RANK "/ %d )", lanes);
    else if (is(s, after, ".") && token_in(s, axis, "x y z") && !lanes) {
        if (is(s, method, "group_index"))
            put_words(f, "blockIdx .");
        else if (is(s, method, "thread_index"))
            put_words(f, "threadIdx .");
        else if (token_in(s, method, "group_dim dim_threads"))
            put_words(f, "blockDim .");
        else
            return i;
        return axis;
    } else
        return i;
    return after;
}

/* The group at i: its index, or -1 */
static int group_at(struct flat *f, int i, const struct scope *c)
{
    return group_of(f, i, next(f->s, i), c);
}

int flat_group(struct flat *f, int i, struct scope *c)
{
    const struct source *s = f->s;
    int group = group_at(f, i, c);
    if (group >= 0) return flat_method(f, i, c->groups[group].lanes, c);
    int call = past_space(s, i), open = next(s, call), argument = next(s, open);
    if (token_in(s, call, "this_thread_block this_grid") && is(s, argument, ")")) {
        int after = flat_method(f, argument, is(s, call, "this_grid") ? GRID : 0, c);
        if (after == argument) return i;
        f->changed = 1;
        return after;
    }
    if (!is(s, call, "sync") || !is(s, open, "(")) return i;
    group = group_at(f, argument, c);
    if (group < 0 || next(s, argument) != mate(s, open)) return i;
    put_sync(f, c->groups[group].lanes);
    return next(s, mate(s, open));
}

/* --- cg::reduce --------------------------------------------------------------------- */

int is_group_reduction(struct flat *f, int i, struct scope *c)
{
    const struct source *s = f->s;
    int call = past_space(s, i), open = next(s, call), group = next(s, open);
    if (!is(s, call, "reduce") || !is(s, open, "(")) return 0;
    if (group_at(f, group, c) < 0 || !is(s, next(s, group), ",")) return 0;
    return mate(s, open);
}

/* A butterfly of shuffles, as cooperative_groups/reduce.h has it */
int flat_reduction(struct flat *f, int i, struct scope *c)
{
    const struct source *s = f->s;
    int open = next(s, past_space(s, i)), close = mate(s, open);
    int group = next(s, open), value = next(s, next(s, group)),
        comma = find_outside(s, value, close, ",");
    int lanes = c->groups[group_at(f, group, c)].lanes;
    int plus = past_space(s, next(s, comma)), angle = next(s, plus);
    int end = close_angle(s, angle);
    /* cg::plus<T>() of a variable or an element of type T */
    int index = next(s, value), element = is(s, index, "[");
    struct scope *where = c;
    int alone = (element ? next(s, mate(s, index)) : index) == comma;
    const struct typed *v = alone ? type_of(f, value, index, c, &where) : NULL;
    if (!lanes || lanes == GRID || !v || v->stars != element || !is(s, plus, "plus") ||
        !is(s, angle, "<") || end < 0 ||
        !same_type(s, next(s, angle), end, v->type, v->type_end) ||
        next(s, next(s, next(s, end))) != close) {
        give_up(f);
        return 0;
    }
    int number = ++f->number;
    flat_tokens(f, v->type, v->type_end, where);
    put_number(f, " wbcpu_%d_result = ", number);
    flat_tokens(f, value, comma, c);
    put_number(f, "; for ( int wbcpu_%d_o = ", number);
    put_number(f, "%d ;", lanes / 2);
    put_number(f, "wbcpu_%d_o > 0 ;", number);
    put_number(f, "wbcpu_%d_o /", number);
    put_words(f, "= 2 )");
    put_number(f, "wbcpu_%d_result +", number);
    put_words(f, "= __shfl_xor_sync ( ");
    put_mask(f, lanes);
    put_number(f, ", wbcpu_%d_result ,", number);
    put_number(f, "wbcpu_%d_o , ", number);
    put_number(f, "%d ) ;", lanes);
    return number;
}
