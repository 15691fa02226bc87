/* run_folder.c - the lock of a run's folder when flock fails. */
#include "../../tinylm/run_folder.h"
#include "../tap.h"

#include <errno.h>
#include <string.h>

static int reason;  // errno of flock

int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    (void)fd, (void)operation;
    return reason ? errno = reason, -1 : 0;
}

int main(void)
{
    static const int others[] = {EWOULDBLOCK, EIO, ENOMEM, EINTR};
    static const int without[] = {0, ENOSYS, EOPNOTSUPP, ENOLCK, EBADF};
    wb_error err;
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        reason = without[i];
        tap(run_folder_lock(".", &err) == 0, "a lock, or a file system without locks: %s",
            strerror(reason));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        reason = others[i];
        bool refused = run_folder_lock(".", &err) != 0;
        tap(refused && strstr(err.text, i ? strerror(reason) : "another training"),
            "no lock: %s", strerror(reason));
    }
    return tap_done();
}
