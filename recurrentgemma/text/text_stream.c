/* text_stream.c - see text.h: text as its tokens come.
 *
 * Two things can delay the text of a token. A first space: SentencePiece drops it in a
 * model with a dummy prefix, and all tokens up to the first that prints something decide
 * what counts as first. And bytes: a character without a piece of its own comes as up to
 * four byte pieces, and the library decides what a broken run becomes. So the stream
 * keeps the tokens whose text is not final and decodes them again together with the next
 * one. With a byte tokenizer, the bytes of an incomplete character are held back in the
 * text itself. */
#include "text_codec.h"
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

struct text_stream {
    const text_codec *codec;
    int *ids;            // the anchor, then `count` tokens whose text is not final
    size_t count, room;  // room: of the tokens
    size_t run;          // how many of the last ones are byte pieces
    bool begun;          // something was printed: no later token is first
    char *text;          // what the last call gave, then the bytes held back
    size_t given, held;
};

text_stream *text_stream_begin(const text_codec *t)
{
    text_stream *s = calloc(1, sizeof *s);
    if (s) s->codec = t;
    return s;
}

void text_stream_free(text_stream *s)
{
    if (!s) return;
    free(s->ids);
    free(s->text);
    free(s);
}

// Room for `more` bytes after those held back, which move to the front.
static bool text_room(text_stream *s, size_t more)
{
    if (s->given) memmove(s->text, s->text + s->given, s->held);
    s->given = 0;
    char *text = realloc(s->text, s->held + more + 1);
    if (text) s->text = text;
    return text != NULL;
}

// Appends final text; an incomplete character at its end stays held back.
static bool append(text_stream *s, const char *text, size_t bytes)
{
    if (!text_room(s, bytes)) return false;
    memcpy(s->text + s->held, text, bytes);
    size_t all = s->held + bytes;
    s->held = utf8_unfinished(s->text, all);
    s->given = all - s->held;
    s->text[all] = 0;
    return true;
}

// Decodes all tokens except the last `kept`, which stay.
static bool decode(text_stream *s, size_t kept)
{
    const text_codec *t = s->codec;
    int anchored = s->begun && t->anchor >= 0;
    size_t bytes, skip = anchored ? t->anchor_bytes : 0, taken = s->count - kept;
    char *text = spm_decode(t->spm, s->ids + !anchored, taken + (size_t)anchored, &bytes);
    if (!text) return false;
    if (skip > bytes) skip = bytes;
    bool fine = append(s, text + skip, bytes - skip);
    free(text);
    s->begun |= bytes > 0;
    if (!s->begun) return fine;  // the next token may still be first: keep them all
    memmove(s->ids + 1, s->ids + 1 + taken, kept * sizeof *s->ids);
    s->count = kept;
    return fine;
}

static bool push(text_stream *s, int id)
{
    if (s->count == s->room) {
        size_t room = 2 * s->room + 8;
        int *ids = realloc(s->ids, (room + 1) * sizeof *ids);
        if (!ids) return false;
        s->ids = ids;
        s->room = room;
        s->ids[0] = s->codec->anchor;
    }
    s->ids[++s->count] = id;
    return true;
}

// A SentencePiece token.
static bool add_piece(text_stream *s, int id)
{
    const spm *model = s->codec->spm;
    if (spm_control(model, id)) {  // prints nothing, but ends a run of bytes
        bool open = s->run > 0;
        s->run = 0;
        return !open || decode(s, 0);
    }
    if (!push(s, id)) return false;
    if (spm_byte(model, id) < 0) {
        s->run = 0;
        return decode(s, 0);
    }
    char bytes[4];  // a run never grows beyond one character
    s->run++;
    for (size_t i = 0; i < s->run; i++)
        bytes[i] = (char)spm_byte(model, s->ids[s->count - s->run + 1 + i]);
    size_t kept = utf8_unfinished(bytes, s->run);
    if (kept == s->run) return true;
    s->run = kept;
    return decode(s, kept);
}

const char *text_stream_add(text_stream *s, int id, size_t *bytes)
{
    char piece[4];
    bool fine = append(s, "", 0);
    if (id >= 0 && id < text_vocab(s->codec) && fine)
        fine = s->codec->spm
                   ? add_piece(s, id)
                   : append(s, piece, (size_t)tokenizer_piece(&s->codec->own, id, piece));
    *bytes = fine ? s->given : 0;
    return fine ? s->text : NULL;
}

const char *text_stream_end(text_stream *s, size_t *bytes)
{
    bool fine = append(s, "", 0) && (!s->count || decode(s, 0));
    *bytes = fine ? s->given + s->held : 0;
    s->given = s->held = s->count = s->run = 0;
    s->begun = false;
    return fine ? s->text : NULL;
}
