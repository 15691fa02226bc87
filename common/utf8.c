/* utf8.c - see utf8.h. */
#include "utf8.h"

int utf8_read(const unsigned char *s, size_t n, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = s[0] < 0x80   ? 1
                 : s[0] < 0xC2 ? 0
                 : s[0] < 0xE0 ? 2
                 : s[0] < 0xF0 ? 3
                               : 4;
    if (length == 0 || s[0] > 0xF4 || (size_t)length > n) return 0;
    uint32_t c = length == 1 ? s[0] : s[0] & (0xFFu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (c < least[length] || c >= UTF8_CODES || (c >= 0xD800 && c < 0xE000)) return 0;
    *code = c;
    return length;
}

int utf8_write(uint32_t c, char out[4])
{
    if (c < 0x80) return out[0] = (char)c, 1;
    int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(0xF00 >> length | c);
    return length;
}

size_t utf8_unfinished(const char *text, size_t bytes)
{
    for (size_t n = 1; n <= 3 && n <= bytes; n++) {
        const unsigned char *c = (const unsigned char *)text + bytes - n;
        if ((c[0] & 0xC0) == 0x80) continue;  // a continuation byte: look for its lead
        size_t length = c[0] < 0xC2 ? 1 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
        if (c[0] > 0xF4 || length <= n) return 0;
        // The second byte: no overlong encodings, no surrogates, none beyond U+10FFFF
        unsigned least = c[0] == 0xE0 ? 0xA0 : c[0] == 0xF0 ? 0x90 : 0x80;
        unsigned most = c[0] == 0xED ? 0x9F : c[0] == 0xF4 ? 0x8F : 0xBF;
        return n == 1 || (c[1] >= least && c[1] <= most) ? n : 0;
    }
    return 0;
}
