"""submission.py - copies a learner's sources into a private folder that contains nothing
else.

It copies the regular files in the named folder, not in its subfolders, whose names end in
.cu, .cuh or .h: no links, pipes or devices, at most FILES files and BYTES bytes. Hidden
files, such as the ._x.cu and .#x.cu of other systems and editors, are left out. A
stranger's file name reaches neither make nor a shell: it is refused unless it consists of
letters, digits, `_`, `.` and `-`. A single source may have any name; it is then copied as
submission.cu."""
import atexit
import os
import re
import shutil
import signal
import stat
import sys
import tempfile
from pathlib import Path

FILES, BYTES = 32, 4 << 20
PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
SOURCE = re.compile(r"[^.].*\.(cu|cuh|h)\Z", re.DOTALL)


class Refused(Exception):
    """One line that names the thing and the fix."""


def printable(name):
    """A name as text without control characters or bytes that are no text."""
    text = os.fsencode(str(name)).decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# --- private folders ----------------------------------------------------------------------

PRIVATE = "warpbook-"  # then the process that owns it; grader/private.c has the same names


def remove_leftovers():
    """Removes private folders of this user whose process was killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PRIVATE}[0-9]*-*"):
        try:
            owner = int(path.name[len(PRIVATE):].partition("-")[0])
            about = path.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid():
                os.kill(owner, 0)
        except ProcessLookupError:
            shutil.rmtree(path, ignore_errors=True)
        except (OSError, ValueError, OverflowError):
            pass


def private_folder():
    """A new folder that is removed when this program ends."""
    remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=f"{PRIVATE}{os.getpid()}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    return folder


# --- copying ------------------------------------------------------------------------------

def copy_file(path, to, room):
    """Copies one regular file; returns its size."""
    shown = printable(path)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as e:
        if os.path.islink(path):
            raise Refused(f"{shown} is a symbolic link: hand in the file itself") from None
        raise Refused(f"{shown} cannot be read: {e.strerror}") from None
    regular = stat.S_ISREG(os.fstat(fd).st_mode)
    data = b""
    while regular and len(data) <= room and (part := os.read(fd, room + 1)):
        data += part
    os.close(fd)
    if not regular:
        raise Refused(f"{shown} is not a regular file: hand in a .cu file")
    if len(data) > room:
        raise Refused(f"{shown}: the sources are larger than {BYTES >> 20} MB in all")
    to.write_bytes(data)
    return len(data)


INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([A-Za-z0-9_.-]+)"', re.MULTILINE)


def read_some(path):
    """The beginning of a regular file; nothing of others."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return b""
    with open(path, "rb") as file:
        return file.read(BYTES)


def headers_of(path):
    """The headers that a single source includes from its folder, except those that are
    named after another source there. In a folder with everyone's submissions, bob.cuh and
    bob_tile.cuh are bob.cu's; a plain tile.cuh was put there for all."""
    folder, own = os.path.split(path)
    names = sorted(n for n in os.listdir(folder or ".") if SOURCE.match(n))
    others = {n.removesuffix(".cu") for n in names if n.endswith(".cu") and n != own}
    offered = {n for n in names if PLAIN.match(n) and not n.endswith(".cu")
               and not any(re.match(re.escape(other) + "[._-]", n) for other in others)}
    found, wanted = set(), [own]
    while wanted:
        text = read_some(os.path.join(folder, wanted.pop()))
        new = {n.decode() for n in INCLUDE.findall(text)} & offered - found
        found |= new
        wanted += new
    return sorted(found)


def refuse_link(path):
    if os.path.islink(path.rstrip("/")):
        raise Refused(f"{printable(path)} is a symbolic link: name the file itself")


def chosen(path, known):
    """[(file, name of the copy)] of a source or folder. known: it is a part of this workbook,
    where the headers of a rung lie next to several sources."""
    refuse_link(path)
    if not os.path.lexists(path):
        raise Refused(f"{printable(path)}: no such file or folder")
    if os.path.isdir(path):
        names = sorted(n for n in os.listdir(path) if SOURCE.match(n))
        if not any(n.endswith(".cu") for n in names):
            inner = [d for d in sorted(Path(path).iterdir()) if list(d.glob("*.cu"))]
            hint = f": name {printable(inner[0])}, which has some" if inner else ""
            raise Refused(f"{printable(path)}: neither a .cu file nor a folder with one{hint}")
        pairs = [(os.path.join(path, n), n) for n in names]
    else:
        name = os.path.basename(path)
        if not name.endswith(".cu"):
            raise Refused(f"{printable(path)}: neither a .cu file nor a folder with one")
        folder = os.path.dirname(path)
        headers = headers_of(path)
        if known:
            headers = [n for n in sorted(os.listdir(folder)) if re.search(r"\.(cuh|h)\Z", n)]
        pairs = [(path, name if PLAIN.match(name) else "submission.cu")]
        pairs += [(os.path.join(folder, n), n) for n in headers]
    for file, name in pairs:
        if not PLAIN.match(name):
            raise Refused(f"{printable(file)}: rename this file: a name may have letters, "
                          "digits, _ . and - only")
    if len(pairs) > FILES:
        raise Refused(f"{printable(path)}: more than {FILES} sources and headers")
    return pairs


def copy(path, into, known):
    """Copies a source, or the sources of a folder. Returns [(original, copy)]."""
    room, copied = BYTES, []
    into.mkdir(parents=True)
    for file, name in chosen(path, known):
        room -= copy_file(file, into / name, room)
        copied.append((file, into / name))
    return copied
