// test_grader_cases.c - the cases file: what it may say, and the bounds that it sets.
// links: objects/grader/cases.o objects/grader/labs.o objects/grader/data.o objects/grader/util.o
// links: objects/grader/causes.o objects/grader/findings.o objects/grader/structure.o
#include "../grader/cases.h"
#include "../grader/data.h"
#include "../grader/structure.h"
#include "../grader/util.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_cases(struct lab *lab, const char *text, char *error, size_t room)
{
    char path[] = "/tmp/test_cases_XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    int rc = cases_read(lab, path, error, room);
    unlink(path);
    return rc;
}

static void expect_error(const char *text, const char *words)
{
    struct lab lab = {0};
    char error[512];
    cr_expect_eq(read_cases(&lab, text, error, sizeof error), -1);
    cr_expect(strstr(error, words), "expected '%s', got '%s'", words, error);
}

Test(cases, reads)
{
    struct lab lab = {0};
    char error[512];
    cr_assert_eq(
        read_cases(
            &lab,
            "# a comment\n\none 03.1 40 op_forward R=4 ; - ; the formula\n"
            "two 03.2 60 op_forward dtype=f16 off=each status=WB_BAD_SHAPE ; one ; "
            "halves, all\n",
            error, sizeof error),
        0, "%s", error);
    cr_assert_eq(lab.count, 2);
    cr_expect_str_eq(lab.cases[0].name, "one");
    cr_expect_str_eq(lab.cases[0].dtype, "f32");
    cr_expect_null(lab.cases[0].needs[0]);
    cr_expect_str_eq(lab.cases[1].needs[0], "one");
    cr_expect_str_eq(lab.cases[1].dtype, "f16");
    cr_expect_eq(lab.cases[1].status, WB_BAD_SHAPE);
    cr_expect(lab.cases[1].off_each && !lab.cases[0].off_each);
    cr_expect_str_eq(lab.cases[1].catches, "halves, all");
    const struct graded_case *one = &lab.cases[0], *two = &lab.cases[1];
    cr_expect(case_matches(&lab, one, "on"));
    cr_expect(case_matches(&lab, one, "x,03.1"));
    cr_expect(case_matches(&lab, one, "o?e"));
    cr_expect_not(case_matches(&lab, one, "two"));
    cr_expect(case_matches(&lab, one, "o") && case_matches(&lab, two, "o"));
    cr_expect(case_matches(&lab, two, "one,tw"));
    snprintf(lab.cases[1].name, sizeof lab.cases[1].name, "one_more");
    cr_expect_not(case_matches(&lab, two, "one"), "the name of a case selects it alone");
}

static void
expect_variant(const struct graded_case *c, int k, const char *name, const char *words)
{
    struct graded_case v;
    char got[256];
    case_variant(&v, c, k, got, sizeof got);
    cr_expect_str_eq(v.name, name);
    cr_expect_str_eq(got, words);
    cr_expect_eq(v.variant, k);
}

Test(cases, reads_alternatives)
{
    struct lab lab = {0};
    struct graded_case v;
    char error[512], words[256];
    cr_assert_eq(
        read_cases(
            &lab,
            "one 1 40 f R=4 ; - ; x\n"
            "two 1 60 f C=3|44 dtype=f16|bf16 R=1 off=x|each status=WB_BAD_SHAPE|WB_OK "
            "; - ; x\n"
            "three 1 0 f T/S/pos=9/64/none|2/~1..9/last dtype=f16|bf16 ; - ; x\n"
            "four 1 0 f T=7|12*~1..9 S=T+~2..3 ; - ; x\n",
            error, sizeof error),
        0, "%s", error);
    const struct graded_case *c = &lab.cases[1];
    cr_expect_eq(lab.cases[2].variants, 4);
    expect_variant(&lab.cases[2], 2, "three@3", "T=2 pos=last dtype=f16");
    cr_expect_eq(lab.cases[3].variants, 13);
    expect_variant(&lab.cases[3], 0, "four@1", "T=7");
    expect_variant(&lab.cases[3], 12, "four@13", "");
    cr_expect_eq(lab.cases[0].variants, 1);
    expect_variant(&lab.cases[0], 0, "one", "");
    cr_expect_eq(c->variants, 16);
    cr_expect_str_eq(c->dtype, "f16|bf16");
    cr_expect_eq(c->status, WB_BAD_SHAPE);
    expect_variant(c, 0, "two@1", "C=3 dtype=f16 off=x status=WB_BAD_SHAPE");
    expect_variant(c, 7, "two@8", "C=3 dtype=bf16 off=each status=WB_OK");
    expect_variant(c, 13, "two@14", "C=44 dtype=bf16 off=x status=WB_OK");
    case_variant(&v, c, 7, words, sizeof words);
    cr_expect(v.off_each && v.status == WB_OK && !strcmp(v.dtype, "bf16"));
    cr_expect(case_has_dtype(c, "bf16") && case_has_dtype(c, "f16"));
    cr_expect(!case_has_dtype(c, "f32") && case_has_dtype(&lab.cases[0], "f32"));
    cr_expect_not(case_has_dtype(c, "f1"));
}

/* Cases with workspace_less= ask for larger sizes, or all cases if there is none. */
Test(cases, which_ask_for_more)
{
    struct lab lab = {0};
    char error[512];
    cr_assert_eq(
        read_cases(
            &lab,
            "one 03.1 40 op_forward R=4 off=x ; - ; the formula\n"
            "two 03.1 30 op_forward dtype=f16 R=4 ; - ; the formula\n"
            "less 03.2 30 op_forward R=4 workspace_less=4 status=WB_NO_SPACE ; - ; space\n",
            error, sizeof error),
        0, "%s", error);
    cr_expect_not(lab.cases[0].larger);
    cr_expect(lab.cases[1].larger);
    cr_expect(lab.cases[2].larger);
}

Test(cases, reads_bounds)
{
    struct lab lab = {0};
    char error[512];
    cr_assert_eq(
        read_cases(
            &lab,
            "one 03.6 40 f bound=reads(x)<=1.05 ; - ; x\n"
            "two 03.6 60 f bound=requests<=2,tensor>=3e6 ; - ; x\n",
            error, sizeof error),
        0, "%s", error);
    const struct bound *one = lab.cases[0].bounds, *two = lab.cases[1].bounds;
    cr_expect_eq(one[0].what, READS);
    cr_expect_str_eq(one[0].buffer, "x");
    cr_expect_eq(one[0].limit, 1.05);
    cr_expect_eq(one[1].what, NO_BOUND);
    cr_expect_eq(two[0].what, REQUESTS);
    cr_expect_eq(two[0].limit, 2);
    cr_expect_eq(two[1].what, TENSOR);
    cr_expect_eq(two[1].limit, 3e6);
}

Test(cases, refuses)
{
    expect_error("a 1 100 f C=1||2 ; - ; x", "expected key=value, got 'C=1||2'");
    expect_error("a 1 100 f C=1| ; - ; x", "expected key=value, got 'C=1|'");
    expect_error("a 1 100 f C ; - ; x", "expected key=value, got 'C'");
    expect_error("a 1 100 f dtype=f16|f8 ; - ; x", "dtype=f8: use f32, f16 or bf16");
    expect_error(
        "a 1 100 f A=1|2|3|4 B=1|2|3|4 C=1|2|3|4 D=1|2 ; - ; x",
        ":1: the case has more than 64 variants");
    expect_error("a 1 100 f bound=reads<=1 ; - ; x", "bound=reads<=1: use reads(x)");
    expect_error("a 1 100 f bound=speed<=1 ; - ; x", "bound=speed<=1: use reads(x)");
    expect_error("a 1 100 f bound=sectors<2 ; - ; x", "bound=sectors<2: use reads(x)");
    expect_error(
        "a 1 100 f bound=sectors<=2x ; - ; x", "bound=sectors<=2x: use reads(x)");
    expect_error("a 1 100 f bound=sectors>=2 ; - ; x", "bound=sectors>=2: use reads(x)");
    expect_error("a 1 100 f bound=tensor<=2 ; - ; x", "bound=tensor<=2: use reads(x)");
    expect_error(
        "a 1 100 f bound=sectors<=2,requests<=2,launches<=1 ; - ; x",
        "bound=: more than 2 bounds");
    expect_error("a 1 100 f ; -\n", ":1: a case is: name part points");
    expect_error("\na 1 x f ; - ; c\n", ":2: points of a: 'x' is not a whole number");
    expect_error("a 1 -5 f ; - ; c\n", ":1: points of a: '-5' is not a whole number");
    expect_error("a 1 90 f ; - ; c\n", "points add up to 90, not 100");
    expect_error("a 1 50 f ; - ; c\na 1 50 f ; - ; c\n", ":2: case a appears twice");
    expect_error("a 1 100 f ; b ; c\n", ":1: a needs 'b', which is not an earlier case");
    expect_error("a 1 100 f dtype=f64 ; - ; c\n", ":1: dtype=f64: use f32, f16 or bf16");
    expect_error("a 1 100 f R ; - ; c\n", ":1: expected key=value, got 'R'");
    expect_error("a 1 100 f status=OK ; - ; c\n", ":1: status=OK is not a wb_status");
    expect_error("a 1 100 f ; - ; \n", ":1: a does not say what it catches");
    expect_error("a/b 1 100 f ; - ; c\n", ":1: 'a/b' may contain only");
}

Test(cases, hints)
{
    char folder[] = "/tmp/test_hints_XXXXXX", path[64];
    int levels;
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/hints.md", folder);
    FILE *f = fopen(path, "w");
    fputs(
        "# Hints\n\n## 03.1 forward\n1. first\n   more\n2. second\n\n## 03.2\n1. other\n",
        f);
    fclose(f);
    cr_expect_str_eq(hint_read(folder, "03.1", 1, &levels), "1. first\n   more\n");
    cr_expect_eq(levels, 2);
    cr_expect_str_eq(hint_read(folder, "03.1", 2, &levels), "2. second\n");
    cr_expect_null(hint_read(folder, "03.1", 3, &levels));
    cr_expect_str_eq(hint_read(folder, "03.2", 1, &levels), "1. other\n");
    unlink(path);
    rmdir(folder);
}

/* --- bounds ------------------------------------------------------------------------- */

static bool holds(struct bound b, const char *kernel, const char *words)
{
    struct findings f = {0};
    struct graded_case g = {.bounds = {b}, .catches = ""};
    json_t *report = json_pack("{s:[o]}", "kernels", json_loads(kernel, 0, NULL));
    bool held = structure_holds(&g, report, &f);
    cr_expect(held || strstr(f.line[0], words), "%s", f.count ? f.line[0] : "");
    findings_free(&f);
    json_decref(report);
    return held;
}

Test(bounds, what_was_not_seen)
{
    struct bound x = {READS, "x", 1.05}, sum = {READS, "sum", 0.05};
    struct bound sectors = {SECTORS, "", 1.1};
    const char *nothing = "{\"buffers\": [], \"global\": {}}";
    const char *once = "{\"buffers\": [{\"name\": \"x\", \"bytes\": 64,"
                       "\"read_bytes\": 64, \"read_distinct\": 64}], \"global\":"
                       "{\"read\": {\"bytes\": 64, \"sectors\": 2, \"ideal\": 2}}}";
    cr_expect(!holds(x, nothing, "check mode saw no kernel that reads x"));
    cr_expect(!holds(sectors, nothing, "saw no kernel that reads device memory"));
    cr_expect(holds(sum, nothing, ""));
    cr_expect(holds(x, once, "") && holds(sectors, once, ""));
}

/* 64 bytes, read in two launches of one kernel; 16 sectors for 2, and 200 good ones */
Test(bounds, what_is_repeated)
{
    struct bound x = {READS, "x", 1.05}, sectors = {SECTORS, "", 1.1};
    const char *twice = "{\"buffers\": [{\"name\": \"x\", \"bytes\": 64,"
                        "\"read_bytes\": 128, \"read_distinct\": 128}], \"global\":"
                        "{\"read\": {\"bytes\": 6464, \"sectors\": 216,"
                        "\"ideal\": 202}}}";
    cr_expect(!holds(x, twice, "x is read 2 times"));
    cr_expect(!holds(sectors, twice, "move 1.88 times as many"));
}

/* The only bound from below */
Test(bounds, tensor_cores)
{
    struct bound b = {TENSOR, "", 8192};
    cr_expect(holds(b, "{\"tensor\": 8192}", ""));
    cr_expect(
        !holds(b, "{\"tensor\": 4096}", "execute 4096 multiply-adds; this case asks"));
}

/* Two lines with 3-way conflicts are as bad as one; one bad line in 100 is not. */
Test(bounds, conflicts_of_all_lines)
{
    struct bound two = {CONFLICTS, "", 2};
    const char *none = "{\"shared\": {\"read\": {}, \"write\": {}}, \"lines\": []}";
    const char *spread = "{\"shared\": {\"read\": {\"wavefronts\": 90, \"ideal\": 30},"
                         "\"write\": {\"wavefronts\": 94, \"ideal\": 30}}, \"lines\": ["
                         "{\"file\": \"a.cu\", \"line\": 7, \"shared\": {\"read\":"
                         "{\"wavefronts\": 90, \"ideal\": 30}}}]}";
    const char *seldom =
        "{\"shared\": {\"read\": {\"wavefronts\": 131, \"ideal\": 100}},"
        "\"lines\": [{\"file\": \"a.cu\", \"line\": 7, \"shared\": {\"read\":"
        "{\"wavefronts\": 32, \"ideal\": 1}}}]}";
    cr_expect(holds(two, none, "") && holds(two, seldom, ""));
    cr_expect(!holds(two, spread, "multiply the passes of shared memory by 3.07;"));
}
