/* findings.h - the lines that explain a result, in the order of the report. */
#ifndef FINDINGS_H
#define FINDINGS_H

enum { MAX_FINDINGS = 24 };
struct findings {
    char *line[MAX_FINDINGS];
    int count;
};

/* Adds a line, formatted as by printf; none once MAX_FINDINGS is reached. */
void say(struct findings *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Puts "with WORDS: " before the first line, if there is one; nothing if words is "". */
void findings_with(struct findings *f, const char *words);
void findings_add(struct findings *to, struct findings *from); /* and empties `from` */
void findings_free(struct findings *f);

#endif
