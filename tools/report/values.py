"""values.py - values of a report that are what they should be, and figures as text."""


class Bad(Exception):
    """One line that names the file and what is wrong with it."""


# --- values that are what they should be ------------------------------------------------


def plain(value):
    """Text without characters that hide or reorder text, or that move a cursor."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    try:
        text = text.encode("latin-1").decode("utf-8")  # check mode escapes byte by byte
    except UnicodeError:
        text = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode()
                   for c in text.replace("\t", "    "))


def number(value):
    """A count or size: not negative, not infinite."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if good and 0 <= value < 1e30 else 0


def table(value):
    return value if isinstance(value, dict) else {}


def rows(value):
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def triple(value):
    """(1,0,0), or nothing."""
    if not isinstance(value, list) or len(value) != 3:
        return ""
    return "(" + ",".join(str(int(number(v))) for v in value) + ")"


# --- figures as text --------------------------------------------------------------------


def scaled(value, units, base=1000.0):
    value = float(value)
    for unit in units[:-1]:
        if value < 999.5:
            break
        value /= base
    else:
        unit = units[-1]
    digits = 0 if value >= 99.5 or value == int(value) else 1 if value >= 9.95 else 2
    return f"{value:.{digits}f} {unit}".rstrip()


def size(value):
    """134217728 -> "134 MB"."""
    return scaled(value, ("B", "KB", "MB", "GB", "TB"))


def count(value):
    """32768 -> "32,768"; 1073741824 -> "1.07 G"."""
    return f"{int(value):,}" if value < 1e6 else scaled(value, ("", "K", "M", "G", "T"))


def duration(seconds):
    return scaled(seconds * 1e9, ("ns", "µs", "ms", "s"))


def plural(n, word):
    return f"{count(n)} {word}{'' if n == 1 else 's'}"


def place_text(file, line):
    return f"{file or '?'}:{line}" if line else file or "?"
