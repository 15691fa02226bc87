/* tokenizer.c - see tokenizer.h. */
#include "tokenizer.h"
#include "json_text.h"
#include "utf8.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const special[] = {"<unk>", "<pad>", "<eos>"};
enum { SPECIALS = sizeof special / sizeof *special };

void tokenizer_free(tokenizer *t)
{
    free(t->code);
    free(t->order);
    *t = (tokenizer){0};
}

// Allocates a vocabulary of `vocab` tokens.
static int tokenizer_room(tokenizer *t, tokenizer_kind kind, int vocab, wb_error *err)
{
    *t = (tokenizer){.kind = kind, .vocab = vocab, .specials = SPECIALS};
    if (kind == TOKENIZER_BYTES) return 0;
    t->code = calloc((size_t)vocab + 1, sizeof *t->code);
    t->order = calloc((size_t)vocab + 1, sizeof *t->order);
    if (t->code && t->order) return 0;
    tokenizer_free(t);
    return error_set(err, "out of memory for a vocabulary of %d tokens", vocab);
}

int tokenizer_build(
    tokenizer *t, tokenizer_kind kind, const char *text, size_t bytes, const char *name,
    wb_error *err)
{
    if (kind == TOKENIZER_BYTES) return tokenizer_room(t, kind, 256, err);
    unsigned char *seen = calloc(UTF8_CODES, 1);
    if (!seen) return error_set(err, "%s: out of memory", name);
    int vocab = 0, rc = 0;
    for (size_t i = 0; i < bytes && !rc;) {
        uint32_t c = 0;
        int n = utf8_read((const unsigned char *)text + i, bytes - i, &c);
        if (n == 0 || c == 0)
            rc = error_set(
                err,
                "%s: byte 0x%02x at %zu is not UTF-8 text: "
                "give a text file or use the byte tokenizer",
                name, (unsigned char)text[i], i);
        else
            vocab += !seen[c], seen[c] = 1, i += (size_t)n;
    }
    if (!rc) rc = tokenizer_room(t, kind, vocab, err);
    for (uint32_t c = 0, id = 0; c < UTF8_CODES && !rc; c++)
        if (seen[c]) t->order[id] = (int)id, t->code[id++] = c;
    free(seen);
    return rc;
}

// The token id of a character, -1 if it is not in the vocabulary.
static int find_code(const tokenizer *t, uint32_t code)
{
    int low = 0, high = t->vocab;
    while (low < high) {
        int middle = (low + high) / 2;
        if (t->code[t->order[middle]] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->vocab && t->code[t->order[low]] == code ? t->order[low] : -1;
}

int *tokenizer_encode(
    const tokenizer *t, const char *text, size_t bytes, const char *name, size_t *count,
    wb_error *err)
{
    const unsigned char *s = (const unsigned char *)text;
    int *ids = malloc((bytes + 1) * sizeof *ids);
    if (!ids) error_set(err, "%s: out of memory for %zu tokens", name, bytes);
    *count = 0;
    for (size_t i = 0; i < bytes && ids;) {
        if (t->kind == TOKENIZER_BYTES) {
            ids[(*count)++] = s[i++];
            continue;
        }
        uint32_t code = 0;
        int n = utf8_read(s + i, bytes - i, &code);
        int id = n ? find_code(t, code) : -1;
        if (n == 0)
            error_set(err, "%s: byte 0x%02x at %zu is not UTF-8 text", name, s[i], i);
        else if (id < 0)
            error_set(
                err, "%s: the character '%.*s' (U+%04X) is not in the model's vocabulary",
                name, code < 32 ? 0 : n, text + i, code);
        if (id < 0) {
            free(ids);
            return NULL;
        }
        ids[(*count)++] = id;
        i += (size_t)n;
    }
    return ids;
}

int tokenizer_piece(const tokenizer *t, int token, char piece[4])
{
    if (token < 0 || token >= t->vocab) return 0;
    if (t->kind == TOKENIZER_BYTES) return piece[0] = (char)token, 1;
    return utf8_write(t->code[token], piece);
}

int tokenizer_stream_add(tokenizer_stream *s, const tokenizer *t, int token, char out[8])
{
    memcpy(out, s->held, (size_t)s->count);
    int all = s->count + tokenizer_piece(t, token, out + s->count);
    s->count = (int)utf8_unfinished(out, (size_t)all);
    memcpy(s->held, out + all - s->count, (size_t)s->count);
    return all - s->count;
}

int tokenizer_stream_end(tokenizer_stream *s, char out[8])
{
    int rest = s->count;
    memcpy(out, s->held, (size_t)rest);
    s->count = 0;
    return rest;
}

/* --- tokenizer.json ----------------------------------------------------------------- */

// Byte-level BPE represents a byte by a character: by the same code if it is printable
// Latin-1, else by the next of 256, 257, ...
static json_t *byte_vocabulary(void)
{
    json_t *vocab = json_object();
    int next = 256;
    for (int b = 0; b < 256; b++) {
        int printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 255 && b != 173);
        char key[5] = {0};
        utf8_write((uint32_t)(printable ? b : next++), key);
        json_object_set_new(vocab, key, json_integer(b));
    }
    return vocab;
}

static json_t *special_tokens(int first)
{
    json_t *list = json_array();
    for (int i = 0; i < SPECIALS; i++)
        json_array_append_new(
            list, json_pack(
                      "{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", first + i, "content",
                      special[i], "single_word", 0, "lstrip", 0, "rstrip", 0,
                      "normalized", 0, "special", 1));
    return list;
}

static json_t *tokenizer_to_json(const tokenizer *t)
{
    if (t->kind == TOKENIZER_BYTES)
        return json_pack(
            "{s:s, s:n, s:n, s:o, s:n, s:{s:s,s:b,s:b,s:b}, s:n, s:{s:s,s:b,s:b,s:b}, "
            "s:{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:o, s:[]}}",
            "version", "1.0", "truncation", "padding", "added_tokens",
            special_tokens(t->vocab), "normalizer", "pre_tokenizer", "type", "ByteLevel",
            "add_prefix_space", 0, "trim_offsets", 0, "use_regex", 0, "post_processor",
            "decoder", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 0,
            "use_regex", 0, "model", "type", "BPE", "dropout", "unk_token",
            "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0,
            "byte_fallback", 0, "vocab", byte_vocabulary(), "merges");
    json_t *vocab = json_object();
    for (int id = 0; id < t->vocab; id++) {
        char key[5] = {0};
        utf8_write(t->code[id], key);
        json_object_set_new(vocab, key, json_integer(id));
    }
    for (int i = 0; i < SPECIALS; i++)
        json_object_set_new(vocab, special[i], json_integer(t->vocab + i));
    return json_pack(
        "{s:s, s:n, s:n, s:o, s:n, s:{s:s, s:{s:s}, s:s, s:b}, s:n, s:{s:s}, "
        "s:{s:s, s:o, s:s}}",
        "version", "1.0", "truncation", "padding", "added_tokens",
        special_tokens(t->vocab), "normalizer", "pre_tokenizer", "type", "Split",
        "pattern", "Regex", "[\\s\\S]", "behavior", "Isolated", "invert", 0,
        "post_processor", "decoder", "type", "Fuse", "model", "type", "WordLevel",
        "vocab", vocab, "unk_token", special[0]);
}

int tokenizer_save(const tokenizer *t, const char *folder, int context, wb_error *err)
{
    json_t *config = json_pack(
        "{s:s, s:i, s:b, s:s, s:s, s:s, s:s}", "tokenizer_class",
        "PreTrainedTokenizerFast", "model_max_length", context,
        "clean_up_tokenization_spaces", 0, "padding_side", "left", "unk_token",
        special[0], "pad_token", special[1], "eos_token", special[2]);
    if (json_save(folder, "tokenizer_config.json", config, err)) return -1;
    return json_save(folder, "tokenizer.json", tokenizer_to_json(t), err);
}

static int compare_code(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;  // (character, token id) pairs
    return (x[0] > y[0]) - (x[0] < y[0]);
}

// The special tokens of a file: an object of their ids by name.
static json_t *find_specials(const json_t *root)
{
    json_t *found = json_object(), *token;
    size_t i;
    json_array_foreach(json_object_get(root, "added_tokens"), i, token) {
        const char *name = json_string_value(json_object_get(token, "content"));
        json_t *id = json_object_get(token, "id");
        if (name && json_is_integer(id) &&
            json_is_true(json_object_get(token, "special")))
            json_object_set(found, name, id);
    }
    return found;
}

// How many of them have an id in [vocab, vocab + their number).
static int count_specials(json_t *specials, int vocab)
{
    int count = 0;
    const char *name;
    json_t *id;
    json_object_foreach(specials, name, id)
        count += json_integer_value(id) >= vocab &&
                 json_integer_value(id) < vocab + (json_int_t)json_object_size(specials);
    return count;
}

static bool is_character(const char *key, uint32_t *code)
{
    size_t length = strlen(key);
    return length && utf8_read((const unsigned char *)key, length, code) == (int)length;
}

// An entry of the vocabulary. Special tokens may follow the characters.
static int parse_entry(
    tokenizer *t, const char *key, json_t *value, json_t *specials, const char *name,
    wb_error *err)
{
    uint32_t c = 0;
    json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
    if (!is_character(key, &c)) {
        if (json_object_get(specials, key) && id >= t->vocab) return 0;
        return error_set(
            err, "%s: vocabulary entry '%.40s' is not one character%s", name, key,
            json_object_get(specials, key) ? ": special tokens must follow all characters"
                                           : "");
    }
    if (id < 0 || id >= t->vocab || t->code[id])
        return error_set(
            err, "%s: the id of '%.40s' is a duplicate or not in 0..%d", name, key,
            t->vocab - 1);
    t->code[id] = c;
    return 0;
}

// A WordLevel vocabulary: n keys of one character with the ids 0 to n-1.
static int parse_characters(
    tokenizer *t, json_t *vocab, json_t *specials, const char *name, wb_error *err)
{
    const char *key;
    json_t *value;
    int size = 0, rc = 0;
    uint32_t c;
    json_object_foreach(vocab, key, value)
        size += is_character(key, &c);
    if (tokenizer_room(t, TOKENIZER_CHARACTERS, size, err)) return -1;
    json_object_foreach(vocab, key, value)
        if (!rc) rc = parse_entry(t, key, value, specials, name, err);
    if (!rc && size == 0) rc = error_set(err, "%s: model.vocab has no characters", name);
    uint32_t(*pairs)[2] = calloc((size_t)size + 1, sizeof *pairs);
    if (!rc && !pairs) rc = error_set(err, "%s: out of memory", name);
    for (int i = 0; i < size && !rc; i++)
        pairs[i][0] = t->code[i], pairs[i][1] = (uint32_t)i;
    if (!rc) qsort(pairs, (size_t)size, sizeof *pairs, compare_code);
    for (int i = 0; i < size && !rc; i++)
        t->order[i] = (int)pairs[i][1];
    free(pairs);
    if (rc) tokenizer_free(t);
    return rc;
}

int tokenizer_parse(
    tokenizer *t, const char *json, size_t bytes, const char *name, wb_error *err)
{
    *t = (tokenizer){0};
    json_t *root = json_parse(json, bytes, name, err);
    if (!root) return -1;
    json_t *model = json_object_get(root, "model"),
           *vocab = json_object_get(model, "vocab");
    const char *type = json_string_value(json_object_get(model, "type"));
    json_t *every_byte = byte_vocabulary(), *specials = find_specials(root);
    int rc;
    if (type && strcmp(type, "WordLevel") == 0)
        rc = parse_characters(t, vocab, specials, name, err);
    else if (type && strcmp(type, "BPE") == 0 && json_equal(vocab, every_byte))
        rc = tokenizer_room(t, TOKENIZER_BYTES, 256, err);
    else
        rc = error_set(
            err, "%s: neither a character nor a byte tokenizer (model type '%.40s')",
            name, type ? type : "none");
    if (!rc) t->specials = count_specials(specials, t->vocab);
    json_decref(specials);
    json_decref(every_byte);
    json_decref(root);
    return rc;
}

int tokenizer_load(tokenizer *t, const char *folder, wb_error *err)
{
    char path[PATH_MAX];
    size_t bytes;
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    *t = (tokenizer){0};
    char *json = file_read(path, 64u << 20, &bytes, err);
    if (!json) return -1;
    int rc = tokenizer_parse(t, json, bytes, path, err);
    free(json);
    return rc;
}
