"""without.py NUMBER COMMAND... - runs a command for which system call NUMBER does not exist:
an old kernel. 444 is landlock_create_ruleset on every CPU."""

import ctypes
import os
import struct
import sys

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ENOSYS = 0x7FFF0000, 0x00050000 | 38
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2


def main():
    steps = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, int(sys.argv[1])), (RETURN, 0, 0, ENOSYS),
             (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((NO_NEW_PRIVS, 1, 0, 0, 0), (SET_SECCOMP, FILTER, program, 0, 0)):
        if libc.prctl(*arguments):
            sys.exit(f"without.py: {os.strerror(ctypes.get_errno())}")
    os.execvp(sys.argv[2], sys.argv[2:])


main()
