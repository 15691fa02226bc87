/* chat.c - see chat.h. */
#include "chat.h"

#include <stdlib.h>
#include <string.h>

static const char *const start_mark = "<start_of_turn>";
static const char *const end_mark = "<end_of_turn>";

int chat_open(chat *c, const text_codec *text, wb_error *err)
{
    *c = (chat){
        text, text_bos(text), text_eos(text), text_piece_id(text, start_mark),
        text_piece_id(text, end_mark)};
    const char *missing = c->bos < 0     ? "a piece that starts a sequence (bos)"
                          : c->start < 0 ? start_mark
                          : c->end < 0   ? end_mark
                                         : NULL;
    if (!missing) return 0;
    return error_set(
        err,
        "--chat: the model's tokenizer lacks %s, so it was not trained on turns: use "
        "--prompt, or an instruction-tuned model (-it)",
        missing);
}

int chat_stops(const chat *c, int stop[2])
{
    stop[0] = c->end;
    stop[1] = c->eos;
    return c->eos >= 0 ? 2 : 1;
}

int chat_said(const chat *c, const int *sampled, int count)
{
    int newest = count > 0 ? sampled[count - 1] : -1;
    return count - (newest >= 0 && (newest == c->end || newest == c->eos));
}

// A growing list of tokens; after a failure `ids` is NULL and further calls do nothing.
typedef struct list {
    const chat *chat;
    int *ids;
    size_t count;
    wb_error *err;
} list;

static void append(list *l, const int *ids, size_t count)
{
    if (!l->ids) return;
    int *grown = realloc(l->ids, (l->count + count + 1) * sizeof *grown);
    if (grown) {
        if (count) memcpy(grown + l->count, ids, count * sizeof *ids);
        l->count += count;
    } else {
        error_set(l->err, "no memory for a turn of %zu tokens", l->count + count);
        free(l->ids);
    }
    l->ids = grown;
}

static void append_text(list *l, const char *text, size_t bytes)
{
    size_t count = 0;
    int *ids = l->ids ? text_encode(l->chat->text, text, bytes, &count, l->err) : NULL;
    if (ids)
        append(l, ids, count);
    else
        free(l->ids), l->ids = NULL;
    free(ids);
}

static bool starts(const char *text, size_t bytes, const char *mark)
{
    size_t n = strlen(mark);
    return bytes >= n && memcmp(text, mark, n) == 0;
}

// Text in which a mark stays plain text: it is cut after its "<", so no piece contains
// one.
static void append_plain(list *l, const char *text, size_t bytes)
{
    size_t begin = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (!starts(text + i, bytes - i, start_mark) &&
            !starts(text + i, bytes - i, end_mark))
            continue;
        append_text(l, text + begin, i + 1 - begin);
        begin = i + 1;
    }
    append_text(l, text + begin, bytes - begin);
}

int *chat_turn(
    const chat *c, int last, const char *user, size_t bytes, size_t *count, wb_error *err)
{
    list l = {.chat = c, .ids = malloc(sizeof *l.ids), .err = err};
    char *said = malloc(bytes + 6);  // encoded together: "user\n\nHello" may share pieces
    *count = 0;
    if (!l.ids || !said) {
        error_set(err, "no memory for a turn of %zu bytes", bytes);
        free(l.ids), free(said);
        return NULL;
    }
    memcpy(said, "user\n", 5);
    memcpy(said + 5, user, bytes);
    if (last < 0) append(&l, &c->bos, 1);
    if (last >= 0 && last != c->end) append(&l, &c->end, 1);
    if (last >= 0) append_text(&l, "\n", 1);
    append(&l, &c->start, 1);
    append_plain(&l, said, bytes + 5);
    append(&l, &c->end, 1);
    append_text(&l, "\n", 1);
    append(&l, &c->start, 1);
    append_text(&l, "model\n", 6);
    free(said);
    *count = l.count;
    return l.ids;
}
