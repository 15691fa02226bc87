/* eos.h - the tokens that end a sequence, from the files of a model folder. The
 * eos_token_id of generation_config.json is used if that file lists any, otherwise the
 * one of config.json: one id or a list.
 *
 * Functions return 0, or -1 with one line in *err. A key that is missing or null lists no
 * token. */
#ifndef EOS_H
#define EOS_H
#include "wb_error.h"

enum { MAX_EOS = 8, MAX_TOKEN_ID = 1 << 30 };

typedef struct eos_tokens {
    int id[MAX_EOS], count;
} eos_tokens;

struct json_t;
/* eos_token_id of a file's object; name is the file's, for messages. */
int eos_from_json(eos_tokens *t, struct json_t *root, const char *name, wb_error *err);
/* Those of the folder's generation_config.json replace them, if it lists any. */
int eos_of_generation(eos_tokens *t, const char *folder, wb_error *err);

#endif
