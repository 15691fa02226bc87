/* saved_state.h - --save-state and --load-state: saves a sequence to a file, so that another
 * process can continue it.
 *
 * The file has a header, then the bytes of rg_state_save, which identify the weights. The
 * header holds a checksum of the whole file, and the newest token, which the states do
 * not include yet: processing it gives the logits for the next one. */
#ifndef SAVED_STATE_H
#define SAVED_STATE_H
#include "session.h"

typedef struct saved_state {
    const char *path;
    char *file; /* NULL: none is loaded */
    int length; /* tokens in its states */
    int newest; /* the token after them */
} saved_state;

/* Call it before opening a model: it checks that the file is complete and undamaged. */
int saved_state_read(saved_state *f, const char *path, wb_error *err);
/* Loads it into the only sequence of the open engine. */
int saved_state_use(saved_state *f, session *s, wb_error *err);
void saved_state_free(saved_state *f);

/* Saves the only sequence of the engine; newest: the token that follows its states. */
int saved_state_write(session *s, int newest, const char *path, wb_error *err);

#endif
