/* test_tokenizer.c - both tokenizers: encode, decode, save, load, reject. */
#include "tokenizer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Encodes, decodes, compares.
static void round_trip(const tokenizer *t, const char *text, size_t bytes)
{
    wb_error err = {""};
    size_t n, at = 0;
    int *ids = tokenizer_encode(t, text, bytes, "text", &n, &err);
    cr_assert_not_null(ids, "%s", err.text);
    char *back = malloc(bytes + 4);
    for (size_t i = 0; i < n; i++)
        at += (size_t)tokenizer_piece(t, ids[i], back + at);
    cr_assert_eq(at, bytes);
    cr_expect_arr_eq(back, text, bytes);
    free(back);
    free(ids);
}

static const char some[] =
    "banana \xc3\xa9\n\xe2\x82\xac\xf0\x9f\x98\x80";  // é, € and an emoji

Test(tokenizer, characters_are_sorted)
{
    tokenizer t;
    wb_error err;
    size_t n;
    cr_assert_eq(
        tokenizer_build(&t, TOKENIZER_CHARACTERS, some, strlen(some), "s", &err), 0);
    cr_expect_eq(t.vocab, 8);  // \n, space, a, b, n, é, € and the emoji
    int *ids = tokenizer_encode(&t, "ab\n", 3, "s", &n, &err);
    cr_assert_eq(n, 3);
    cr_expect(ids[0] == 2 && ids[1] == 3 && ids[2] == 0);
    free(ids);
    round_trip(&t, some, strlen(some));
    char piece[4];
    cr_expect_eq(tokenizer_piece(&t, 8, piece), 0);
    cr_expect_eq(tokenizer_piece(&t, -1, piece), 0);
    cr_expect_null(tokenizer_encode(&t, "z", 1, "prompt", &n, &err));
    cr_expect_str_eq(
        err.text, "prompt: the character 'z' (U+007A) is not in the model's vocabulary");
    tokenizer_free(&t);
}

// Pieces of a stream end where a character does; bytes that never become one are given.
Test(tokenizer, streams)
{
    static const char text[] =
        "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"  // é, € and an emoji
        "\xf0\x9f"
        "b\xff\xe2\x82";  // broken ones
    static const int given[] = {1, 0, 2, 0, 0, 3, 0, 0, 0, 4, 0, 0, 3, 1, 0, 0};
    tokenizer t;
    tokenizer_stream s = {0};
    wb_error err;
    char out[8], all[sizeof text];
    size_t at = 0;
    cr_assert_eq(tokenizer_build(&t, TOKENIZER_BYTES, NULL, 0, "s", &err), 0);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        int n = tokenizer_stream_add(&s, &t, (unsigned char)text[i], out);
        cr_expect_eq(n, given[i], "byte %zu: %d, not %d", i, n, given[i]);
        memcpy(all + at, out, (size_t)n);
        at += (size_t)n;
    }
    int rest = tokenizer_stream_end(&s, out);
    cr_expect_eq(rest, 2);
    memcpy(all + at, out, (size_t)rest);
    cr_expect(at + (size_t)rest == sizeof text - 1 && !memcmp(all, text, at));
    cr_expect_eq(tokenizer_stream_end(&s, out), 0);
}

Test(tokenizer, bytes_accept_anything)
{
    tokenizer t;
    wb_error err;
    char all[256];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    cr_assert_eq(tokenizer_build(&t, TOKENIZER_BYTES, NULL, 0, "s", &err), 0);
    cr_expect_eq(t.vocab, 256);
    round_trip(&t, all, sizeof all);
}

Test(tokenizer, rejects_binary)
{
    tokenizer t;
    wb_error err;
    static const struct {
        const char *text;
        size_t bytes;
        const char *says;
    } bad[] = {
        {"ab\0c", 4, "byte 0x00 at 2"},      {"a\xff", 2, "byte 0xff at 1"},
        {"\xc0\xaf", 2, "byte 0xc0 at 0"},   {"\xed\xa0\x80", 3, "byte 0xed at 0"},
        {"\xe2\x82", 2, "byte 0xe2 at 0"},   {"\xf4\x90\x80\x80", 4, "byte 0xf4 at 0"},
        {"\xe0\x80\xaf", 3, "byte 0xe0 at"}, {"\xc3(", 2, "byte 0xc3 at 0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int rc = tokenizer_build(
            &t, TOKENIZER_CHARACTERS, bad[i].text, bad[i].bytes, "f", &err);
        cr_expect_eq(rc, -1);
        cr_expect_not_null(strstr(err.text, bad[i].says), "'%s'", err.text);
    }
}

static int parse(tokenizer *t, const char *json, wb_error *err)
{
    return tokenizer_parse(t, json, strlen(json), "file", err);
}

// Files of older versions have no special tokens; in others they follow the characters.
Test(tokenizer, special_tokens)
{
#define SPECIAL(id, name) "{\"id\":" #id ",\"content\":\"" name "\",\"special\":true}"
#define CHARACTERS "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"b\":0,\"a\":1"
    tokenizer t;
    wb_error err = {""};
    cr_assert_eq(parse(&t, "{" CHARACTERS "}}}", &err), 0, "%s", err.text);
    cr_expect(t.vocab == 2 && t.specials == 0);
    round_trip(&t, "abba", 4);
    tokenizer_free(&t);
    const char *with = "{\"added_tokens\":[" SPECIAL(2, "<unk>") "," SPECIAL(
        3, "<pad>") "]," CHARACTERS ",\"<unk>\":2}}}";
    cr_assert_eq(parse(&t, with, &err), 0, "%s", err.text);
    cr_expect(t.vocab == 2 && t.specials == 2);
    char piece[4];
    cr_expect_eq(tokenizer_piece(&t, 2, piece), 0);
    round_trip(&t, "abba", 4);
    tokenizer_free(&t);
    const char *first = "{\"added_tokens\":[" SPECIAL(
        0,
        "<unk>") "],\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"<unk>\":0,\"a\":1}}}";
    cr_expect_eq(parse(&t, first, &err), -1);
    cr_expect_not_null(
        strstr(err.text, "special tokens must follow all characters"), "%s", err.text);
    const char *unlisted = "{" CHARACTERS ",\"<unk>\":2}}}";
    cr_expect_eq(parse(&t, unlisted, &err), -1);
    cr_expect_not_null(strstr(err.text, "'<unk>' is not one character"), "%s", err.text);
}

Test(tokenizer, saved_and_loaded)
{
    for (int kind = 0; kind < 2; kind++) {
        tokenizer t, u;
        wb_error err;
        char folder[] = "/tmp/test_tokenizer.XXXXXX", path[64];
        cr_assert_not_null(mkdtemp(folder));
        cr_assert_eq(
            tokenizer_build(&t, (tokenizer_kind)kind, some, strlen(some), "s", &err), 0);
        cr_assert_eq(tokenizer_save(&t, folder, 64, &err), 0, "%s", err.text);
        cr_assert_eq(tokenizer_load(&u, folder, &err), 0, "%s", err.text);
        cr_expect(u.kind == t.kind && u.vocab == t.vocab && u.specials == 3);
        if (t.code) cr_expect_arr_eq(u.code, t.code, (size_t)t.vocab * sizeof *t.code);
        round_trip(&u, some, strlen(some));
        tokenizer_free(&t);
        tokenizer_free(&u);
        snprintf(path, sizeof path, "%s/tokenizer.json", folder);
        unlink(path);
        snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
        unlink(path);
        cr_expect_eq(rmdir(folder), 0);
    }
}

Test(tokenizer, rejects_broken_files)
{
    static const char *const bad[][2] = {
        {"{", "not valid JSON"},
        {"{}", "neither a character nor a byte tokenizer"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}", "neither a character"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}}}", "no characters"},
        {"{\"model\":{\"type\":\"WordLevel\"}}", "no characters"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"ab\":0}}}",
         "not one character"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":1}}}", "not in 0..0"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"b\":0}}}", "duplicate"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":\"0\"}}}", "not in"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tokenizer t;
        wb_error err = {""};
        cr_expect_eq(tokenizer_parse(&t, bad[i][0], strlen(bad[i][0]), "file", &err), -1);
        cr_expect_not_null(strstr(err.text, bad[i][1]), "'%s'", err.text);
    }
}
