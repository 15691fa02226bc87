// test_grader_data.c - variants of inputs, text from the learner's side, private folders.
// links: objects/grader/variant.o objects/grader/data.o objects/grader/util.o
// links: objects/grader/findings.o objects/grader/private.o objects/grader/causes.o
#include "../grader/data.h"
#include "../grader/findings.h"
#include "../grader/private.h"
#include "../grader/util.h"
#include "../grader/variant.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- variants of data A ------------------------------------------------------------- */

static void expect_variant(enum element e, const void *values, size_t n, bool change)
{
    struct case_data d = {.buffers = 1, .seed = 7};
    size_t bytes = n * element_bytes(e), changed = 0;
    unsigned char *to = xalloc(bytes), *again = xalloc(bytes), *other = xalloc(bytes);
    d.buffer[0] = (struct buffer){.element = e, .bytes = bytes, .filled = true};
    d.set[0].bytes[0] = values;
    make_variant(to, &d, 2), make_variant(again, &d, 2), make_variant(other, &d, 3);
    cr_expect_arr_eq(to, again, bytes, "seeded");
    for (size_t i = 0; i < n; i++)
        changed +=
            memcmp(
                to + i * element_bytes(e), (const char *)values + i * element_bytes(e),
                element_bytes(e)) != 0;
    if (change) {
        cr_expect(changed > n / 24 && changed < n / 12, "%zu of %zu", changed, n);
        cr_expect_arr_neq(to, other, bytes, "each number gives another one");
    } else {
        cr_expect_eq(changed, 0);
    }
    free(to), free(again), free(other);
}

Test(variant, changes_the_last_bit_of_some_floats)
{
    static float f[4096];
    static uint16_t h[4096];
    static int32_t whole[4096];
    for (int i = 0; i < 4096; i++)
        f[i] = 1.5f + (float)i, h[i] = (uint16_t)(0x3C01 + i), whole[i] = i + 3;
    expect_variant(ELEMENT_F32, f, 4096, true);
    expect_variant(ELEMENT_F16, h, 4096, true);
    expect_variant(ELEMENT_BF16, h, 4096, true);
    expect_variant(ELEMENT_I32, whole, 4096, false);
    expect_variant(ELEMENT_I64, whole, 2048, false);
    expect_variant(ELEMENT_U8, whole, 4096, false);
}

Test(variant, keeps_what_must_stay)
{
    static float f[4096];
    static uint16_t h[4096];
    static const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 0.5f};
    static const uint16_t half[] = {0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0x3C00, 1, 0xBC00};
    for (int i = 0; i < 4096; i++)
        f[i] = special[i % 8], h[i] = half[i % 8];
    expect_variant(ELEMENT_F32, f, 4096, false);
    expect_variant(ELEMENT_F16, h, 4096, false);
}

/* --- what comes from the learner's side --------------------------------------------- */

static void expect_clean(const char *text, const char *clean)
{
    char *copy = text_of("%s", text);
    clean_text(copy);
    cr_expect_str_eq(copy, clean);
    free(copy);
}

Test(clean, text)
{
    expect_clean("plain ASCII, µs and 你好", "plain ASCII, µs and 你好");
    expect_clean("a\nb\rc\td\033[2Je\177", "a.b.c.d.[2Je.");
    expect_clean("\xC0\xAF overlong /", ".. overlong /");
    expect_clean("\xE0\x80\x8A overlong", "... overlong");
    expect_clean("\xF0\x80\x80\x8A", "....");
    expect_clean("surrogate \xED\xA0\x80", "surrogate ...");
    expect_clean("too large \xF4\x90\x80\x80", "too large ....");
    expect_clean("cut \xE4\xBD", "cut ..");
    expect_clean("\x80\xFF\xFE", "...");
    expect_clean(
        "C1 \xC2\x9B"
        "2J",
        "C1 .2J"); /* CSI in one character */
    expect_clean(
        "turned \xE2\x80\xAE"
        "abc",
        "turned .abc"); /* right-to-left override */
    expect_clean("hidden \xE2\x80\x8B", "hidden .");
    expect_clean("line \xE2\x80\xA8", "line .");
    expect_clean("tag \xF3\xA0\x80\x81", "tag .");
}

Test(clean, findings)
{
    struct findings f = {0};
    say(&f, "%s", "kernel x\n== Test lab03/tail == OK");
    cr_expect_str_eq(f.line[0], "kernel x.== Test lab03/tail == OK");
    findings_free(&f);
}

static char *in_folder(const char *folder, const char *name)
{
    return text_of("%s/%s", folder, name);
}

/* A process that no longer runs, for a folder that it left behind. */
static pid_t ended_process(void)
{
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

Test(private, leftovers)
{
    char folder[] = "/tmp/test_private_XXXXXX", name[64];
    cr_assert(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    snprintf(name, sizeof name, "warpbook-%d-abcdef", (int)ended_process());
    char *old = in_folder(folder, name), *below = in_folder(old, "data");
    char *file = in_folder(below, "x"), *link = in_folder(below, "link");
    char *kept = in_folder(folder, "kept"), *ours = in_folder(folder, "warpbook-x");
    char *running = text_of("%s/warpbook-%d-abcdef", folder, (int)getpid());
    cr_assert_eq(mkdir(old, 0700) | mkdir(below, 0700) | mkdir(running, 0700), 0);
    cr_assert_eq(mkdir(kept, 0700) | mkdir(ours, 0700) | symlink(kept, link), 0);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    char *inside = in_folder(kept, "inside");
    close(open(inside, O_CREAT | O_WRONLY, 0600));
    private_remove_leftovers();
    cr_expect_neq(access(old, F_OK), 0, "of a process that has ended");
    cr_expect_eq(access(running, F_OK), 0, "of one that runs");
    cr_expect_eq(access(ours, F_OK), 0, "of nobody");
    cr_expect_eq(access(inside, F_OK), 0, "a link is not followed");
    remove_all(AT_FDCWD, folder);
    cr_expect_neq(access(folder, F_OK), 0);
}
