/* sentencepiece_file.c - see spm_check in sentencepiece.h.
 *
 * The file is a protobuf message: fields, each a number and a value. At the top
 *     1  a piece, once for each      2  the trainer's settings      3  the normaliser's
 *     5  the denormaliser's
 * in this order, so a truncated file may still be a complete message, but of a different
 * model. In 3 and 5, field 2 holds rules that replace characters; Gemma has none. */
#include "sentencepiece.h"

#include <stdint.h>
#include <string.h>

typedef struct bytes {
    const unsigned char *at, *end;
} bytes;

static bool read_varint(bytes *b, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && b->at < b->end; shift += 7) {
        *value |= (uint64_t)(*b->at & 0x7F) << shift;
        if (!(*b->at++ & 0x80)) return true;
    }
    return false;
}

// The next field's number and, in a field of bytes, those; false: not a message.
static bool read_field(bytes *b, uint64_t *number, bytes *value)
{
    uint64_t tag, size = 0;
    if (!read_varint(b, &tag)) return false;
    *number = tag >> 3;
    *value = (bytes){b->at, b->at};
    if ((tag & 7) == 0) return read_varint(b, &size);
    if ((tag & 7) == 1) size = 8;
    if ((tag & 7) == 5) size = 4;
    if ((tag & 7) == 2 && !read_varint(b, &size)) return false;
    if ((tag & 7) > 5 || (tag & 7) == 3 || (tag & 7) == 4) return false;
    if (size > (uint64_t)(b->end - b->at)) return false;
    if ((tag & 7) == 2) *value = (bytes){b->at, b->at + size};
    b->at += size;
    return true;
}

static uint32_t word(const unsigned char *p)
{
    return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

// The rules are a tree of characters in one array, followed by the replacements, each
// with a zero byte at its end. The library follows its offsets unchecked.
static bool rules_are_sound(bytes rules)
{
    size_t size = (size_t)(rules.end - rules.at);
    if (size == 0) return true;
    if (size < 8) return false;
    size_t tree = word(rules.at), units = tree / 4;
    if (tree % 1024 || tree == 0 || tree + 4 >= size || rules.end[-1] != 0) return false;
    for (size_t i = 0; i < units; i++) {
        uint32_t unit = word(rules.at + 4 + 4 * i);
        size_t children = i ^ (size_t)(unit >> 10 << ((unit & 1u << 9) >> 6));
        if (unit >> 31 ? (unit & 0x7FFFFFFF) >= size - 4 - tree
                       : (children | 255) >= units)
            return false;
    }
    return true;
}

int spm_check(const void *model, size_t size, const char *name, wb_error *err)
{
    bytes file = {model, (const unsigned char *)model + size}, value, rules;
    uint64_t number, inner;
    bool seen[6] = {false};
    while (file.at < file.end) {
        if (!read_field(&file, &number, &value))
            return error_set(
                err, "%s: not a SentencePiece model, or cut off; get the file again",
                name);
        if (number < 6) seen[number] = true;
        bool of_rules = number == 3 || number == 5;
        while (of_rules && value.at < value.end) {
            if (!read_field(&value, &inner, &rules))
                return error_set(err, "%s: damaged; get the file again", name);
            if (inner != 2 || rules.at == rules.end) continue;
            if (number == 5)
                return error_set(
                    err, "%s: has rules for decoding, which are not supported", name);
            if (!rules_are_sound(rules))
                return error_set(
                    err, "%s: its normalisation rules are damaged; get the file again",
                    name);
        }
    }
    if (seen[1] && seen[2] && seen[3]) return 0;
    return error_set(
        err, "%s: not a SentencePiece model, or cut off (no %s); get the file again",
        name,
        !seen[1]   ? "pieces"
        : !seen[2] ? "trainer's settings"
                   : "normaliser's settings");
}
