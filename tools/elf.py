"""elf.py - reads an object file: its sections, its symbols, and what would run before
main.

    obj = elf.read(path)
    obj.sections     [Section(name, flags, size)], by index
    obj.symbols      [Symbol(name, kind, bind, section, value, size)]; section: an index, or UNDEFINED,
                     ABSOLUTE, COMMON
    obj.touches(f)   what the code of a function refers to
    obj.pointers     [(section name, target)]: what .init_array and its like point to

Each object is read alone, so a local symbol of one file cannot hide an undefined symbol
of another. A file that is not a complete little-endian 64-bit relocatable object raises
Damaged."""
import struct
from collections import namedtuple
from pathlib import Path

Section = namedtuple("Section", "name flags size kind offset link info")
Symbol = namedtuple("Symbol", "name kind bind section value size")

UNDEFINED, ABSOLUTE, COMMON = 0, 0xFFF1, 0xFFF2
LOCAL, GLOBAL, WEAK = 0, 1, 2
FUNCTION, FILE, IFUNC = 2, 4, 10
WRITABLE, ALLOCATED, EXECUTABLE = 1, 2, 4
SYMTAB, RELA = 2, 4
POINTERS = (".init_array", ".preinit_array", ".fini_array", ".ctors", ".dtors")


class Damaged(Exception):
    pass


class Object:
    def __init__(self, data):
        self.data = data
        if data[:7] != b"\x7fELF\x02\x01\x01" or self.unpack("<H", 16) != (1,):
            raise Damaged("not a 64-bit object file")
        self.sections = self.read_sections()
        self.symbols = self.read_symbols()
        self.pointers = self.read_pointers()

    def unpack(self, form, offset):
        return struct.unpack_from(form, self.data, offset)

    def text(self, table, at):
        """The name at an offset of a string table."""
        start = table.offset + at
        end = self.data.index(b"\0", start, table.offset + table.size)
        return self.data[start:end].decode(errors="backslashreplace")

    def read_sections(self):
        (start,) = self.unpack("<Q", 40)
        _, count, names = self.unpack("<HHH", 58)
        raw = [self.unpack("<IIQQQQII", start + 64 * i) for i in range(count or 1)]
        if count == 0:  # more than fit: the first section has the real numbers
            raw = [self.unpack("<IIQQQQII", start + 64 * i) for i in range(raw[0][5])]
        if names == 0xFFFF:
            names = raw[0][6]
        made = [Section(name, flags, size, kind, offset, link, info)
                for name, kind, flags, _, offset, size, link, info in raw]
        return [s._replace(name=self.text(made[names], s.name)) for s in made]

    def read_symbols(self):
        found = []
        for s in self.sections:
            if s.kind != SYMTAB:
                continue
            strings = self.sections[s.link]
            for at in range(s.offset, s.offset + s.size, 24):
                name, info, _, section, value, size = self.unpack("<IBBHQQ", at)
                label = self.text(strings, name) if name else ""
                found.append(Symbol(label, info & 15, info >> 4, section, value,
                                    size))
        return found

    def read_pointers(self):
        found = []
        functions = {(s.section, s.value): s.name
                     for s in self.symbols if s.kind == FUNCTION}
        for s in self.sections:
            place = self.sections[s.info].name if s.info < len(self.sections) else ""
            if s.kind == RELA and place.startswith(POINTERS):
                found += [(place, target(functions, symbol, addend))
                          for _, symbol, addend in self.relocations(s)]
            elif s.name.startswith(POINTERS) and s.kind != RELA and s.size:
                found.append((s.name, None))  # stays None unless a relocation names it
        named = {place for place, target in found if target}
        return [(place, target) for place, target in found if target or place not in named]

    def relocations(self, table):
        for at in range(table.offset, table.offset + table.size, 24):
            place, info, addend = self.unpack("<QQq", at)
            yield place, self.symbols[info >> 32], addend

    def touches(self, function):
        """What the function's code refers to: names, or (section, offset) if unnamed."""
        found = set()
        for f in (s for s in self.symbols if s.name == function and s.kind == FUNCTION):
            for table in self.sections:
                if table.kind == RELA and table.info == f.section:
                    found |= {s.name or (s.section, addend)
                              for place, s, addend in self.relocations(table)
                              if f.value <= place < f.value + f.size}
        return found

    def undefined(self):
        return {s.name for s in self.symbols if s.section == UNDEFINED and s.name}

    def defined(self):
        """Local names too."""
        return {s.name for s in self.symbols
                if s.section != UNDEFINED and s.kind != FILE}

    def exported(self):
        return {s.name for s in self.symbols if s.bind != LOCAL and s.section != UNDEFINED}

    def weak(self):
        """Templates and inline functions, which other objects may define too."""
        return {s.name for s in self.symbols
                if s.bind not in (LOCAL, GLOBAL) and s.section != UNDEFINED}


def target(functions, symbol, addend):
    """The function that a relocation means, also if it is a section and an offset."""
    at = symbol.section, symbol.value + addend
    return symbol.name or functions.get(at) or "a function without a name"


def read(path):
    try:
        return Object(Path(path).read_bytes())
    except (struct.error, IndexError, ValueError, OSError) as e:
        raise Damaged(f"{path}: not a complete object file ({e})") from None
