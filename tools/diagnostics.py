"""diagnostics.py - what a compiler says of a learner's source, cut to what helps: each
error once, although a template has it in every instantiation, and only those lines of the
way to it that are in the learner's own files. Text that is not understood is kept."""
import re

MOST = 5  # errors
PLACE = re.compile(r"^(?P<file>[^\s:()]+)[:(]\d+(?::\d+|\))?:?\s+(?P<kind>fatal error|error|warning"
                   r"|note|required from|recursively required from|In )")
# What g++ and clang++ print before an error or after it
BEFORE = re.compile(r"^(In file included from|In function |    inlined from |\s+from |\S+: (In |At global scope|recursively )"
                    r"|\S+:\d+:\d+:\s+(recursively )?required )")
WITH = re.compile(r" \[with [^]]*\](?='?:?$)")
# nvcc's way to a template; functions of the CPU back end
LEFT_OUT = re.compile(r"^ {10}(detected during|instantiation of )|.*In function '[\w ]*wbcpu::")


class Group:
    """A message, with the lines before it and its notes"""

    def __init__(self):
        self.before, self.lines = [], []

    def key(self):
        return self.lines[0] if self.lines else None

    def severe(self):
        return bool(self.lines) and " error: " in self.lines[0]

    def text(self, own):
        """own(file): is that a file of the learner's?"""
        first = PLACE.match(self.lines[0]) if self.lines else None
        inside = first and own(first["file"])
        kept = []
        for line in self.before:
            place = PLACE.match(line)
            if line.startswith("    inlined from"):
                keep = False
            elif line.startswith(("In file included", " ")) or " required from here" in line:
                keep = not inside and place and own(place["file"])
            elif place and "required" in place["kind"]:
                keep = not inside and own(place["file"])
            else:
                keep = "In " in line
            if keep:
                kept.append(WITH.sub("", line.rstrip(",").replace("In instantiation of", "In")))
        return kept + self.lines


def groups(lines):
    group = Group()
    for line in lines:
        place = PLACE.match(line)
        new = bool(place) and place["kind"] in ("fatal error", "error", "warning")
        if (new or BEFORE.match(line)) and group.lines:
            note = BEFORE.match(line) and line.startswith(("In file", "   "))
            if new or not note:
                yield group
                group = Group()
        if new or group.lines or not BEFORE.match(line):
            group.lines.append(line)
        else:
            group.before.append(line)
    yield group


def shorten(text, own):
    """The text of a compiler; own(file) is true for the learner's files"""
    out, seen, errors, context = [], set(), 0, None
    for group in groups([line for line in text.splitlines() if not LEFT_OUT.match(line)]):
        if group.lines and group.key() in seen:
            continue
        seen.add(group.key())
        errors += group.severe()
        if errors > MOST and group.severe():
            continue
        shown = group.text(own)
        if shown and ": In " in shown[0]:
            if shown[0] == context:  # the same function again
                shown = shown[1:]
            else:
                context = shown[0]
        out += shown
    if errors > MOST:
        out.append(f"... and {errors - MOST} more errors")
    return "".join(line + "\n" for line in out)
