/* sentencepiece_none.c - replaces sentencepiece.cpp where the library is missing. */
#include "sentencepiece.h"

#include <stdlib.h>

spm *spm_open(const void *model, size_t bytes, const char *name, wb_error *err)
{
    (void)model, (void)bytes;
    error_set(
        err,
        "%s: this program was built without SentencePiece: install libsentencepiece-dev "
        "(or set SENTENCEPIECE=prefix) and rebuild, or give token ids",
        name);
    return NULL;
}

// Nothing below is ever called: there is no spm.
void spm_close(spm *s)
{
    (void)s;
}
int spm_vocab(const spm *s)
{
    return (void)s, 0;
}
int spm_bos(const spm *s)
{
    return (void)s, -1;
}
int spm_eos(const spm *s)
{
    return (void)s, -1;
}
int spm_pad(const spm *s)
{
    return (void)s, -1;
}
int spm_unknown(const spm *s)
{
    return (void)s, -1;
}
int spm_piece_id(const spm *s, const char *piece)
{
    return (void)s, (void)piece, -1;
}
int spm_byte(const spm *s, int id)
{
    return (void)s, (void)id, -1;
}
bool spm_control(const spm *s, int id)
{
    return (void)s, (void)id, false;
}

int *spm_encode(
    const spm *s, const char *text, size_t bytes, size_t *count, wb_error *err)
{
    (void)s, (void)text, (void)bytes, (void)err;
    return *count = 0, NULL;
}

char *spm_decode(const spm *s, const int *ids, size_t count, size_t *bytes)
{
    (void)s, (void)ids, (void)count;
    return *bytes = 0, NULL;
}
