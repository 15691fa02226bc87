"""build_backend.py - what pip calls (PEP 517 and 660) to make a wheel of this folder: the
package, its version from common/version.h, and the path of the tree, where the libraries
are built. Standard library only.

build_backend.py FOLDER LIBRARY - for make install: makes a wheel in FOLDER that holds the
path of the installed library instead of the tree's."""

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parent
VERSION = re.search(r'VERSION "(.*)"', (TREE / "common/version.h").read_text())[1]
INFO = f"warpbook-{VERSION}.dist-info"
METADATA = f"""Metadata-Version: 2.1
Name: warpbook
Version: {VERSION}
Summary: Models on the engine of warpbook, and the labs' kernels on NumPy arrays
License: MIT
Requires-Python: >=3.9
Requires-Dist: numpy>=1.24

{(HERE / "README.md").read_text()}"""
WHEEL = (
    "Wheel-Version: 1.0\nGenerator: warpbook\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)


def record_line(name, content):
    digest = (
        base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    )
    return f"{name},sha256={digest},{len(content)}\n"


def write(folder, files):
    """A wheel of {name: bytes}; returns its name."""
    files = {
        **files,
        f"{INFO}/METADATA": METADATA.encode(),
        f"{INFO}/WHEEL": WHEEL.encode(),
    }
    record = "".join(record_line(n, c) for n, c in files.items()) + f"{INFO}/RECORD,,\n"
    name = f"warpbook-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in {**files, f"{INFO}/RECORD": record.encode()}.items():
            wheel.writestr(path, content)
    return name


def build_wheel(folder, config_settings=None, metadata_directory=None, library=None):
    package = sorted(p for p in (HERE / "warpbook").iterdir() if p.is_file())
    files = {f"warpbook/{p.name}": p.read_bytes() for p in package}
    files["warpbook/_installed.py"] = (
        f"TREE = {None if library else str(TREE)!r}\n"
        f"LIBRARY = {library!r}\nVERSION = {VERSION!r}\n".encode()
    )
    return write(folder, files)


def build_editable(folder, config_settings=None, metadata_directory=None):
    return write(folder, {"warpbook.pth": f"{HERE}\n".encode()})


if __name__ == "__main__":
    build_wheel(sys.argv[1], library=sys.argv[2])
