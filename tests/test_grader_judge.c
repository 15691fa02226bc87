// test_grader_judge.c - what the grader says of made-up results.
// links: objects/tests/grader/scene.o
// links: objects/grader/cases.o objects/grader/labs.o objects/grader/data.o objects/grader/util.o
// links: objects/grader/causes.o
// links: objects/grader/judge.o objects/grader/repeats.o objects/grader/values.o
// links: objects/grader/compare.o objects/grader/writes.o
// links: objects/grader/findings.o objects/grader/structure.o objects/grader/pattern.o
// links: objects/grader/pattern_where.o objects/grader/pattern_scale.o
// links: objects/grader/pattern_moved.o objects/grader/pattern_value.o
#include "grader/scene.h"

#include "../grader/util.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(judge, right_passes)
{
    struct scene s = scene(4, 10, 3, ROLE_OUT);
    add_all(&s);
    char *text = report(&s);
    cr_expect_eq(s.j.verdict, PASSED, "%s", text);
    cr_expect_eq(s.j.findings.count, 0);
}

Test(judge, tolerance_is_a_bound)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t);
    for (int n = 0; n < ALL_CALLS; n++) {
        if (same_data((uint32_t)n) != CALL_A) continue;
        out_of(&s.run.result[n])[3] += 0.9e-5f;
        out_of(&t.run.result[n])[3] += 1.3e-5f;
    }
    report(&s);
    cr_expect_eq(s.j.verdict, PASSED);
    expect_fail(&t, "out: 1 of 40 elements wrong, first at [row 0, col 3]");
}

Test(judge, nan_fails)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s.run.result[0])[39] = nanf("");
    expect_fail(&s, "first at [row 3, col 9]: got NaN");
}

Test(judge, infinity_fails)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    s.tol[0] = INFINITY;
    out_of(&s.run.result[0])[0] = INFINITY;
    expect_fail(&s, "got inf");
}

Test(judge, never_written)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    memset(&out_of(&s.run.result[0])[7], 0xFF, 4);
    expect_fail(&s, "got NaN (never written)");
}

Test(judge, red_zones)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t);
    out_of(&s.run.result[0])[42] = 0;
    expect_fail(&s, "writes past the end of out, by up to 3 elements");
    out_of(&t.run.result[0])[-1] = 0;
    expect_fail(&t, "writes before the start of out, by 1 element");
}

Test(judge, workspace_red_zone)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    s.run.result[0].bytes[result_bytes(&s) - RED_ZONE] = 0;
    expect_fail(
        &s, "writes past the end of the workspace, by 1 element: does its _workspace");
}

Test(judge, input_changed)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    input_of(&s, &s.run.result[0])[12] = 9;
    expect_fail(&s, "changes its input x, first at [row 1, col 2]");
}

Test(judge, gap_between_rows)
{
    struct scene s = scene(4, 10, 3, ROLE_OUT);
    add_all(&s);
    out_of(&s.run.result[0])[13 + 11] = 9;
    expect_fail(&s, "writes between the rows of out, at row 1, col 11");
}

Test(judge, second_data_wrong)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    memcpy(out_of(&s.run.result[1]), out_of(&s.run.result[0]), 160);
    expect_fail(&s, "it has the results of the first: is something kept between calls");
}

Test(judge, second_data_wrong_but_not_kept)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    for (size_t i = 0; i < 40; i++)
        out_of(&s.run.result[1])[i] *= 3;
    expect_fail(&s, "does the kernel read memory that it has not written");
    cr_expect(strstr(s.j.findings.line[1], "the expected values times 3"));
}

Test(judge, repeat_differs)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s.run.result[2])[5] += 1e-6f;
    expect_fail(&s, "two calls on equal inputs differ (out[row 0, col 5] is");
}

Test(judge, order_differs)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s.run.result[CALL_ORDER])[5] += 1e-6f;
    expect_fail(&s, "changes with the thread order: is a __syncthreads() missing?");
}

/* Without shared memory, barriers and shuffles there is no barrier to miss. */
Test(judge, order_differs_without_barriers)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t);
    s.d.threads_apart = t.d.threads_apart = true;
    out_of(&s.run.result[CALL_ORDER])[5] += 1;
    out_of(&t.run.result[CALL_ORDER])[5] += 1;
    expect_fail(
        &s, "does one thread read or write an element that another writes? Or is an "
            "uninitialized local variable read?");
    expect_silence(&t, "__syncthreads");
}

Test(judge, order_differs_in_the_last_bits)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    s.d.threads_apart = true;
    out_of(&s.run.result[CALL_ORDER])[5] += 1e-6f;
    expect_fail(&s, "do several threads add to one element? A float atomic changes");
}

/* The orders run in a process of their own. */
Test(judge, right_in_a_new_process)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s.run.result[0])[5] += 2;
    expect_fail(&s, "Is something kept from an earlier call (a static variable)?");
}

/* What matters is the read, not the order that reveals it. */
Test(judge, order_differs_out_of_bounds)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    fill16((unsigned char *)&out_of(&s.run.result[CALL_ORDER])[5], 4, FILL_RED_ZONE);
    expect_fail(&s, "changes with the thread order: a kernel reads out of bounds");
}

Test(judge, order_differs_with_a_cause)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    float with[40];
    add_all(&s);
    for (size_t i = 0; i < 40; i++)
        with[i] = (float)s.want[0][i] + 2, out_of(&s.run.result[0])[i] += 2;
    know(&s, (struct cause){.words = "2 is added", .value = with});
    expect_fail(&s, "likely cause: 2 is added");
}

Test(judge, order_differs_on_other_data)
{
    for (uint32_t i = 1; i < ORDERS; i++) {
        struct scene s = scene(4, 10, 0, ROLE_OUT);
        add_all(&s);
        out_of(&s.run.result[CALL_ORDER + i])[5] += 1e-6f;
        expect_fail(&s, "changes with the thread order: is a __syncthreads() missing?");
    }
}

/* A launcher may take another kernel if a buffer is not aligned: other last bits, but
 * right values. */
Test(judge, unaligned_buffer)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    struct scene u = scene(4, 10, 0, ROLE_OUT), v = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t), add_all(&u), add_all(&v);
    out_of(&s.run.result[CALL_SHIFTED + 2])[3] += 1e-6f;
    char *text = report(&s);
    cr_expect_eq(s.j.verdict, PASSED, "%s", text);
    out_of(&t.run.result[CALL_SHIFTED + 2])[3] += 1;
    expect_fail(&t, "wrong only (in a call in which x alone starts 4 bytes after");
    input_of(&u, &u.run.result[CALL_SHIFTED + 1])[3] += 1;
    expect_fail(&u, "changes its input x");
    v.run.ending = CRASHED, v.run.call = CALL_SHIFTED;
    snprintf(v.run.text, sizeof v.run.text, "misaligned access");
    expect_fail_with(&v, CRASH, "misaligned access (in a call in which out alone starts");
}

Test(judge, graph_differs)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    out_of(&s.run.result[3])[5] = 0;
    expect_fail(&s, "work on a stream other than the one passed?");
}

Test(judge, nothing_launched)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    s.run.result[0].head.launches = 0;
    expect_fail(&s, "launched no kernel");
}

/* wb.h: if an output is empty, the function does nothing. */
Test(judge, nothing_to_launch)
{
    struct scene s = scene(0, 10, 0, ROLE_OUT);
    add_all(&s);
    s.run.result[0].head.launches = 0;
    char *text = report(&s);
    cr_expect_eq(s.j.verdict, PASSED, "%s", text);
}

Test(judge, no_workspace_to_withhold)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    s.g.status = t.g.status = WB_NO_SPACE;
    s.g.workspace_less = t.g.workspace_less = 4;
    add_result(&s, CALL_A, 0), add_result(&t, CALL_A, 0);
    char *text = report(&s);
    cr_expect_eq(s.j.verdict, PASSED, "%s", text);
    t.run.workspace = 4;
    expect_fail(&t, "returned WB_OK, expected WB_NO_SPACE");
}

Test(judge, workspace_falls)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    add_all(&s);
    strcpy(s.run.falls, "80 bytes for C=3, but only 64 for C=6");
    expect_fail(&s, "must never decrease when a size grows: 80 bytes for C=3, but");
    cr_expect(s.j.returned);
}

/* What a case that needs this one looks at. */
Test(judge, how_wrong)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    struct scene u = scene(4, 10, 0, ROLE_OUT);
    add_all(&s), add_all(&t);
    for (size_t i = 0; i < 20; i++)
        out_of(&s.run.result[0])[i] = 9, out_of(&t.run.result[0])[2 * i] = 9;
    out_of(&t.run.result[0])[1] = 9;
    add_result(&u, CALL_A, 0)->head.status = WB_TODO;
    free(report(&s)), free(report(&t)), free(report(&u));
    cr_expect(s.j.returned && !s.j.mostly_wrong);
    cr_expect(t.j.returned && t.j.mostly_wrong);
    cr_expect_not(u.j.returned);
}

Test(judge, last_words)
{
    static char output[] = "x.cu:9: error: deadlock in kernel k: no thread continues\n x";
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    s.run.ending = CRASHED, s.run.output = output, s.run.output_bytes = sizeof output - 1;
    snprintf(s.run.text, sizeof s.run.text, "abort (a failed assert?) in kernel k");
    char *text = report(&s);
    cr_expect_str_eq(text, "deadlock in kernel k: no thread continues\n");
}

Test(judge, arguments_to_refuse)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    s.g.status = WB_BAD_SHAPE, s.run.ending = TOO_MUCH_MEMORY;
    snprintf(s.run.text, sizeof s.run.text, "used more than 2048 MB of memory: stopped");
    expect_fail_with(&s, CRASH, "expected WB_BAD_SHAPE: check the arguments");
}

Test(judge, status)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    add_result(&s, CALL_A, 0)->head.status = WB_TODO;
    expect_fail(&s, "not written yet: op_f32 returns WB_TODO");
    add_result(&t, CALL_A, 0)->head.status = 77;
    expect_fail(&t, "returned 77, which is not a wb_status");
}

Test(judge, expected_error_writes_nothing)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT);
    struct result *r = add_result(&s, CALL_A, 0);
    s.g.status = r->head.status = WB_BAD_SHAPE;
    expect_fail(&s, "writes to out before it returns the error");
}

Test(judge, silence_does_not_pass)
{
    struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
    expect_fail(&s, "no result came back");
    add_result(&t, CALL_A, 0);
    expect_fail(&t, "no result came back (in the second call, on other data)");
}

/* A verdict needs every call that was asked for, and a result without buffers is one of
 * a CUDA error. */
Test(judge, no_call_may_be_missing)
{
    for (uint32_t i = 0; i < ALL_CALLS; i++) {
        struct scene s = scene(4, 10, 0, ROLE_OUT), t = scene(4, 10, 0, ROLE_OUT);
        if (i == CALL_VARIANT || i == CALL_VARIANT + 1) continue;
        add_all(&s), add_all(&t);
        s.run.result[i].present = false;
        expect_fail(&s, "no result came back");
        t.run.result[i].bytes = NULL;
        expect_fail(&t, "no result came back");
    }
}
