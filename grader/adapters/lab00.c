/* lab00.c - calls the functions of the introduction (labs/lab00_basics/basics.h). */
#include "../harness.h"
#include "basics.h"

static wb_status hello(const struct call *c)
{
    return hello_f32(arg(c, "out"), size(c, "blocks"), size(c, "threads"), stream(c));
}

static wb_status add(const struct call *c)
{
    return add_f32(arg(c, "out"), arg(c, "a"), arg(c, "b"), size(c, "N"), stream(c));
}

static wb_status outer(const struct call *c)
{
    return outer_f32(
        arg(c, "out"), arg(c, "a"), arg(c, "b"), size(c, "R"), size(c, "C"), stream(c));
}

static wb_status saxpy(const struct call *c)
{
    return saxpy_f32(
        arg(c, "y"), arg(c, "x"), size(c, "N"), number(c, "a"), size(c, "blocks"),
        size(c, "threads"), stream(c));
}

static wb_status scale(const struct call *c)
{
    return scale_f32(
        arg(c, "host_out"), arg(c, "host_x"), size(c, "N"), number(c, "a"),
        size(c, "threads"));
}

static wb_status scale_rows(const struct call *c)
{
    return scale_rows_f32(
        arg(c, "out"), arg(c, "x"), arg(c, "w"), size(c, "R"), size(c, "C"), stream(c));
}

static wb_status reverse(const struct call *c)
{
    return reverse_f32(arg(c, "out"), arg(c, "x"), size(c, "N"), stream(c));
}

static wb_status transpose(const struct call *c)
{
    return transpose_f32(
        arg(c, "out"), arg(c, "x"), size(c, "R"), size(c, "C"), stream(c));
}

static wb_status sum_rows(const struct call *c)
{
    return sum_rows_f32(
        arg(c, "out"), arg(c, "x"), size(c, "R"), size(c, "C"), stream(c));
}

static wb_status sum_rows_warp(const struct call *c)
{
    return sum_rows_warp_f32(
        arg(c, "out"), arg(c, "x"), size(c, "R"), size(c, "C"), stream(c));
}

static wb_status smooth(const struct call *c)
{
    return smooth_f32(arg(c, "out"), arg(c, "x"), size(c, "N"), stream(c));
}

const struct adapter adapters[] = {
    {"hello", hello, NULL},       {"add", add, NULL},
    {"outer", outer, NULL},       {"saxpy", saxpy, NULL},
    {"scale", scale, NULL},       {"scale_rows", scale_rows, NULL},
    {"reverse", reverse, NULL},   {"transpose", transpose, NULL},
    {"sum_rows", sum_rows, NULL}, {"sum_rows_warp", sum_rows_warp, NULL},
    {"smooth", smooth, NULL},     {NULL, NULL, NULL},
};
