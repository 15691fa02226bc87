/* test_stop_text.c - --stop: random texts in random pieces, compared with a search of the
 * whole text. */
#include "stop_text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20000, SEED = 12, LONGEST = 24 };

static int below(int n)
{
    return rand() % n;
}

// Of two letters, so that it has many beginnings of other texts.
static int random_text(char *text, int least, int most)
{
    int n = least + below(most - least + 1);
    for (int i = 0; i < n; i++)
        text[i] = "ab"[below(2)];
    text[n] = 0;
    return n;
}

// Bytes before the first stop text that is complete; of several the longest. -1: none.
static int cut(const char *text, const flag_list *stops)
{
    int first = -1, first_end = LONGEST + 1;
    for (int i = 0; i < stops->count; i++) {
        const char *at = strstr(text, stops->word[i]);
        if (!at) continue;
        int begin = (int)(at - text), end = begin + (int)strlen(stops->word[i]);
        bool better = end < first_end || (end == first_end && begin < first);
        if (better) first = begin, first_end = end;
    }
    return first;
}

static void round_of(const char *text, int n, const flag_list *stops)
{
    stop_text s = {.texts = stops};
    char out[LONGEST + 1];
    size_t written = 0, bytes;
    int where = cut(text, stops), want = where < 0 ? n : where;
    for (int at = 0, piece; at < n; at += piece) {
        piece = below(n - at + 1);
        const char *some = stop_text_add(&s, text + at, (size_t)piece, &bytes);
        cr_assert_not_null(some);
        memcpy(out + written, some, bytes), written += bytes;
        cr_assert(
            written <= (size_t)want, "'%s' gives too much of '%s'", stops->word[0], text);
    }
    cr_expect_eq(s.found, where >= 0, "'%s' in '%s'", stops->word[0], text);
    const char *rest = stop_text_end(&s, &bytes);
    memcpy(out + written, rest, bytes), written += bytes;
    cr_assert_eq(
        written, (size_t)want, "%zu of '%s' before '%s'", written, text, stops->word[0]);
    cr_expect_eq(memcmp(out, text, written), 0);
    stop_text_free(&s);
}

Test(stop_text, as_a_search_of_the_whole_text)
{
    char text[LONGEST + 1], words[3][8];
    cr_log_info("seed %d", SEED);
    srand(SEED);
    for (int round = 0; round < ROUNDS; round++) {
        flag_list stops = {.count = 1 + below(3)};
        for (int i = 0; i < stops.count; i++) {
            random_text(words[i], 1, 7);
            stops.word[i] = words[i];
        }
        round_of(text, random_text(text, 0, LONGEST), &stops);
    }
}

// What cannot be the start of a stop text is given immediately.
Test(stop_text, holds_back_no_more_than_a_start)
{
    const flag_list stops = {.word = {"aab"}, .count = 1};
    const char *const pieces[] = {"xa", "a", "a", "c"};
    const size_t given[] = {1, 0, 1, 3};
    stop_text s = {.texts = &stops};
    size_t bytes;
    for (int i = 0; i < 4; i++) {
        cr_assert_not_null(stop_text_add(&s, pieces[i], strlen(pieces[i]), &bytes));
        cr_expect_eq(bytes, given[i], "piece %d gives %zu bytes", i, bytes);
    }
    stop_text_free(&s);
}
