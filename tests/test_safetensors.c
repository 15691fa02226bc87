/* test_safetensors.c - what the reader accepts and rejects, and that a failed write
 * leaves the old file untouched. */
#include "dtype.h"
#include "stop.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// A file in memory: length, header, `data` bytes 0,1,2,...
static st_file *open_text(const char *header, size_t data, wb_error *err)
{
    size_t n = strlen(header);
    static uint8_t file[1 << 16];  // must outlive the st_file
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)n >> 8 * i);
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < data; i++)
        file[8 + n + i] = (uint8_t)i;
    return st_open_memory(file, 8 + n + data, "test file", err);
}

static void rejects(const char *header, size_t data, const char *words)
{
    wb_error err = {""};
    st_file *f = open_text(header, data, &err);
    cr_expect_null(f, "accepted: %s", header);
    cr_expect_not_null(strstr(err.text, words), "'%s' lacks '%s'", err.text, words);
    cr_expect_not_null(strstr(err.text, "test file"), "no file name in '%s'", err.text);
    cr_expect_null(strchr(err.text, '\n'));
    st_close(f);
}

#define ENTRY(name, dtype, shape, begin, end)                                            \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape                             \
    ",\"data_offsets\":[" #begin "," #end "]}"

Test(safetensors, reads)
{
    wb_error err;
    // clang-format off
    static const char header[] =
        "{" ENTRY("b", "U8", "[3]", 8, 11) ","
            ENTRY("a", "F32", "[2,1]", 0, 8) ","
            ENTRY("none", "F16", "[0,5]", 8, 8) ","
            ENTRY("one", "BOOL", "[]", 11, 12) ","
            "\"__metadata__\":{\"k\":\"v\"}}   ";
    // clang-format on
    st_file *f = open_text(header, 12, &err);
    cr_assert_not_null(f, "%s", err.text);
    cr_expect_eq(st_count(f), 4);
    cr_expect_str_eq(st_at(f, 0)->name, "a");
    cr_expect_null(st_at(f, 4));
    const st_tensor *b = st_find(f, "b");
    cr_expect(b->ndim == 1 && b->shape[0] == 3 && b->bytes == 3 && b->elements == 3);
    cr_expect_eq(((const uint8_t *)b->data)[2], 10);
    cr_expect_eq(st_find(f, "none")->bytes, 0);
    cr_expect_eq(st_find(f, "one")->elements, 1);
    cr_expect_null(st_find(f, "c"));
    cr_expect_str_eq(st_metadata(f, "k"), "v");
    cr_expect_null(st_metadata(f, "a"));
    cr_expect_not_null(st_expect(f, "a", ST_F32, 2, (size_t[]){2, 1}, &err));
    cr_expect_null(st_expect(f, "a", ST_F32, 2, (size_t[]){1, 2}, &err));
    cr_expect_str_eq(err.text, "test file: tensor 'a': is F32 (2,1), not F32 (1,2)");
    cr_expect_null(st_expect(f, "c", ST_F32, 0, NULL, &err));
    cr_expect_str_eq(err.text, "test file: tensor 'c': is missing");
    st_close(f);
}

Test(safetensors, rejects_broken_headers)
{
    rejects("{\"a\":", 0, "not valid JSON");
    rejects("[]", 0, "not a JSON object");
    rejects("{}x", 0, "not valid JSON");
    rejects("{\"a\":1}", 0, "'a': no dtype");
    rejects("{\"__metadata__\":[]}", 0, "__metadata__ is not an object");
    rejects("{\"__metadata__\":{\"k\":1}}", 0, "__metadata__ 'k' is not a string");
    rejects(
        "{" ENTRY("a", "U8", "[1]", 0, 1) "," ENTRY("a", "U8", "[1]", 0, 1) "}", 1,
        "duplicate");
    rejects("{\"a\\u0000\":1}", 0, "not valid JSON");
}

Test(safetensors, rejects_broken_entries)
{
    rejects("{" ENTRY("a", "F33", "[1]", 0, 4) "}", 4, "'a': dtype 'F33'");
    rejects("{" ENTRY("a", "F32", "[1]", 0, 5) "}", 5, "make 4 bytes, data_offsets 5");
    rejects("{" ENTRY("a", "F32", "[-1]", 0, 4) "}", 4, "not an integer >= 0");
    rejects("{" ENTRY("a", "F32", "[1.0]", 0, 4) "}", 4, "not an integer >= 0");
    rejects("{" ENTRY("a", "F32", "[true]", 0, 4) "}", 4, "not an integer >= 0");
    rejects("{" ENTRY("a", "F32", "4", 0, 4) "}", 4, "shape is not an array");
    rejects("{" ENTRY("a", "U8", "[1,1,1,1,1,1,1,1,1]", 0, 1) "}", 1, "at most 8");
    rejects("{" ENTRY("a", "F32", "[4294967296,4294967296]", 0, 0) "}", 0, "too large");
    rejects("{" ENTRY("a", "F64", "[2305843009213693952]", 0, 0) "}", 0, "too large");
    rejects(
        "{" ENTRY("a", "F32", "[99999999999999999999]", 0, 0) "}", 0, "not valid JSON");
    rejects("{\"a\":{\"dtype\":\"U8\",\"shape\":[]}}", 0, "data_offsets is not");
    rejects("{" ENTRY("a", "U8", "[1]", 1, 0) "}", 1, "end before they begin");
    rejects("{" ENTRY("a", "U8", "[1]", -1, 0) "}", 1, "data_offsets is not");
}

Test(safetensors, rejects_wrong_cover)
{
    rejects("{" ENTRY("a", "U8", "[4]", 0, 4) "}", 3, "truncated");
    rejects("{" ENTRY("a", "U8", "[4]", 0, 4) "}", 5, "1 bytes at the end");
    rejects("{" ENTRY("a", "U8", "[2]", 2, 4) "}", 4, "2 bytes before it belong to no");
    rejects(
        "{" ENTRY("a", "U8", "[3]", 0, 3) "," ENTRY("b", "U8", "[2]", 2, 4) "}", 4,
        "'b': overlaps 'a'");
    rejects("{}", 1, "1 bytes at the end");
}

Test(safetensors, rejects_wrong_lengths)
{
    wb_error err;
    uint8_t file[64] = {200};
    cr_expect_null(st_open_memory(file, 64, "short", &err));
    cr_expect_str_eq(
        err.text, "short: header of 200 bytes in a file of 64: it is truncated");
    cr_expect_null(st_open_memory(file, 7, "short", &err));
    cr_expect_not_null(strstr(err.text, "too short"));
    memset(file, 0xff, sizeof file);
    cr_expect_null(st_open_memory(file, 64, "huge", &err));
    cr_expect_not_null(strstr(err.text, "not a safetensors file"));
    cr_expect_null(st_open("/nonexistent/x", &err));
    cr_expect_str_eq(err.text, "/nonexistent/x: No such file or directory");
    cr_expect_null(st_open("/", &err));
    cr_expect_str_eq(err.text, "/: not a regular file");
    cr_expect_null(st_open("/dev/null", NULL), "err may be NULL");
}

static char folder[] = "/tmp/test_safetensors.XXXXXX";
static char path[64];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

// Removes the file and the folder, which fails if a temporary file is left. (Criterion
// ignores expectations in .fini.)
static void expect_no_temporary(void)
{
    unlink(path);
    cr_expect_eq(rmdir(folder), 0, "a temporary file was left behind");
}

static const uint8_t bytes3[3] = {1, 2, 3};
static const double doubles2[2] = {0.5, -2};
static const st_tensor two[] = {
    {.name = "bytes", .dtype = ST_U8, .ndim = 1, .shape = {3}, .data = bytes3},
    {.name = "doubles", .dtype = ST_F64, .ndim = 1, .shape = {2}, .data = doubles2},
};

Test(safetensors, writes_what_it_reads, .init = make_folder, .fini = remove_folder)
{
    wb_error err;
    st_pair meta[] = {{"quote", "a \"b\"\n\u00e9"}};
    cr_assert_eq(st_write(path, two, 2, meta, 1, &err), 0, "%s", err.text);
    st_file *f = st_open(path, &err);
    cr_assert_not_null(f, "%s", err.text);
    cr_expect_eq(st_count(f), 2);
    cr_expect_str_eq(st_metadata(f, "quote"), meta[0].value);
    const st_tensor *d = st_expect(f, "doubles", ST_F64, 1, (size_t[]){2}, &err);
    cr_assert_not_null(d, "%s", err.text);
    cr_expect_eq((uintptr_t)d->data % 8, 0, "not aligned");
    cr_expect_arr_eq(d->data, doubles2, sizeof doubles2);
    cr_expect_arr_eq(st_find(f, "bytes")->data, bytes3, sizeof bytes3);
    st_close(f);
    expect_no_temporary();
}

Test(safetensors, writes_in_any_order, .init = make_folder, .fini = remove_folder)
{
    wb_error err;
    atomic_file f;
    size_t begin;
    st_tensor open_two[] = {two[0], two[1]};
    open_two[0].data = open_two[1].data = NULL;
    cr_assert_eq(
        st_begin(&f, &begin, path, open_two, 2, NULL, 0, &err), 0, "%s", err.text);
    cr_expect_eq(begin % 8, 0);
    cr_assert_eq(atomic_write_at(&f, begin + 16, bytes3, 3, &err), 0, "%s", err.text);
    cr_assert_eq(atomic_write_at(&f, begin + 8, &doubles2[1], 8, &err), 0);
    cr_assert_eq(atomic_write_at(&f, begin, &doubles2[0], 8, &err), 0);
    cr_expect_eq(access(path, F_OK), -1, "visible before it is complete");
    cr_assert_eq(atomic_commit(&f, &err), 0, "%s", err.text);
    cr_assert_eq(st_begin(&f, &begin, path, two, 2, NULL, 0, &err), 0, "%s", err.text);
    atomic_abort(&f);  // the first file is intact
    st_file *st = st_open(path, &err);
    cr_assert_not_null(st, "%s", err.text);
    cr_expect_arr_eq(st_find(st, "doubles")->data, doubles2, sizeof doubles2);
    cr_expect_arr_eq(st_find(st, "bytes")->data, bytes3, sizeof bytes3);
    st_close(st);
    expect_no_temporary();
}

// Two writers of one file at the same time: each file is complete, and the last stays.
Test(safetensors, two_writers, .init = make_folder, .fini = remove_folder)
{
    wb_error err;
    atomic_file a, b;
    cr_assert_eq(atomic_begin(&a, path, &err), 0, "%s", err.text);
    cr_assert_eq(atomic_begin(&b, path, &err), 0, "%s", err.text);
    cr_assert_eq(atomic_write(&a, "first", 5, &err), 0);
    cr_assert_eq(atomic_write(&b, "second", 6, &err), 0);
    cr_expect_eq(atomic_commit(&a, &err), 0, "%s", err.text);
    char *text = file_read(path, 100, NULL, &err);
    cr_expect_str_eq(text, "first");
    free(text);
    cr_expect_eq(atomic_commit(&b, &err), 0, "%s", err.text);
    text = file_read(path, 100, NULL, &err);
    cr_expect_str_eq(text, "second");
    free(text);
    expect_no_temporary();
}

// A second Ctrl-C ends the process in the middle of two writes.
Test(safetensors, killed_writer, .init = make_folder, .fini = remove_folder)
{
    wb_error err;
    int status;
    cr_assert_eq(file_write(path, "old", 3, &err), 0, "%s", err.text);
    pid_t child = fork();
    if (child == 0) {
        atomic_file a, b, c;
        stop_catch();
        stop_at_once(false);
        atomic_begin(&a, path, &err), atomic_write(&a, "new", 3, &err);
        atomic_begin(&b, path, &err), atomic_abort(&b);
        atomic_begin(&c, path, &err);
        raise(SIGINT);
        raise(SIGINT);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT);
    char *text = file_read(path, 100, NULL, &err);
    cr_expect_str_eq(text, "old");
    free(text);
    expect_no_temporary();
}

// One table for both programs: names in options and config.json, type in the file.
Test(safetensors, dtypes_of_weights)
{
    wb_dtype back;
    for (int i = 0; i < WB_DTYPES; i++) {
        st_dtype stored = wb_dtype_stored((wb_dtype)i);
        cr_expect_eq(st_dtype_size(stored), wb_dtype_size((wb_dtype)i));
        cr_expect(wb_dtype_of_stored(stored, &back) && (int)back == i);
        cr_expect(wb_dtype_parse(wb_dtype_name((wb_dtype)i), &back) && (int)back == i);
    }
    cr_expect_str_eq(wb_dtype_config_name(WB_BF16), "bfloat16");
    cr_expect_not(wb_dtype_of_stored(ST_F64, &back));
    cr_expect_not(wb_dtype_parse("float32", &back));
}

Test(safetensors, writer_rejects, .init = make_folder, .fini = remove_folder)
{
    wb_error err;
    st_tensor same[] = {two[0], two[0]};
    cr_expect_eq(st_write(path, same, 2, NULL, 0, &err), -1);
    cr_expect_not_null(strstr(err.text, "'bytes'"), "%s", err.text);
    st_tensor bad = {.name = "\xff", .dtype = ST_U8};
    cr_expect_eq(st_write(path, &bad, 1, NULL, 0, &err), -1);
    cr_expect_eq(access(path, F_OK), -1);
    cr_expect_eq(st_write("/nonexistent/x", two, 2, NULL, 0, &err), -1);
    cr_expect_str_eq(err.text, "/nonexistent/x: cannot write: No such file or directory");
    expect_no_temporary();
}

// The disk is full, or a quota is reached, in the middle of a write.
Test(safetensors, full_disk_keeps_old, .init = make_folder, .fini = remove_folder)
{
    wb_error err;
    cr_assert_eq(st_write(path, two, 2, NULL, 0, &err), 0);
    static char big[100000];
    st_tensor t = {
        .name = "big", .dtype = ST_U8, .ndim = 1, .shape = {sizeof big}, .data = big};
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old, limit.rlim_cur = 50000;
    setrlimit(RLIMIT_FSIZE, &limit);
    cr_expect_eq(st_write(path, &t, 1, NULL, 0, &err), -1);
    setrlimit(RLIMIT_FSIZE, &old);
    cr_expect_not_null(strstr(err.text, "File too large"), "%s", err.text);
    cr_expect_not_null(strstr(err.text, "untouched"), "%s", err.text);
    st_file *f = st_open(path, &err);
    cr_assert_not_null(f, "%s", err.text);
    cr_expect_arr_eq(st_find(f, "bytes")->data, bytes3, sizeof bytes3);
    st_close(f);
    expect_no_temporary();
}
