/* stub.c - in place of a lab's program: does one wrong thing before any of the learner's
 * code could run. MODE says which. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { SOCKET = 3, HELLO = 0x77620001, BROKEN = 0x7762000a };
enum { EXITS, CANNOT_BEGIN, WAITS };

struct message {
    uint32_t kind, unused;
    uint64_t nonce[2], bytes;
};

int main(void)
{
    static char payload[1 << 16];
    const char *why = "the device does not respond";
    struct message m;
    if (MODE == EXITS) return 127;
    if (read(SOCKET, &m, sizeof m) != sizeof m) return 1;
    m.kind = HELLO;
    if (write(SOCKET, &m, sizeof m) != sizeof m) return 1;
    for (;;) {
        if (read(SOCKET, &m, sizeof m) != sizeof m) return 1;
        if (read(SOCKET, payload, m.bytes) < 0) return 1;
        if (MODE == WAITS)
            for (;;)
                pause();
        m.kind = BROKEN, m.bytes = strlen(why);
        if (write(SOCKET, &m, sizeof m) < 0 || write(SOCKET, why, m.bytes) < 0) return 1;
    }
}
