/* check.h - each case once more, in check mode: the CPU back end as memory checker and race
 * detector (docs/check.md). It finds mistakes that no output value shows. */
#ifndef CHECK_H
#define CHECK_H
#include "build.h"
#include "child.h"
#include "judge.h"

struct checker;
/* NULL if the lab was built without its program for check mode. */
struct checker *checker_new(const struct build *b, struct child_limits limits);
/* Runs one variant, which `words` describe. Each error that check mode finds is added to
 * the findings, and a case that has passed then fails. */
void checker_case(
    struct checker *c, const struct graded_case *g, const struct case_data *d,
    const char *words, struct judgement *j);
/* The reports of all cases so far, each under its name; the caller's. Of the variants of a
 * case, that of the first and those with errors. */
json_t *checker_reports(const struct checker *c);
void checker_free(struct checker *c);
/* Prints the whole report of these cases, or with a path writes it as a page, by
 * tools/check_report.py. Fatal if that fails. */
void check_show(json_t *reports, const char *html);

#endif
