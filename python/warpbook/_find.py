"""_find.py - where the tree of the workbook is, and the libraries that it has built."""

import os
import re
from pathlib import Path
from typing import Optional, Tuple


class Error(RuntimeError):
    """One sentence that names the thing and the fix."""


def _is_tree(folder: Path) -> bool:
    return (folder / "labs").is_dir() and (folder / "common" / "version.h").is_file()


def _recorded() -> Tuple[Optional[str], Optional[str], str]:
    """The tree that pip installed this package from, or else the library that `make
    install` installed with it; and the version."""
    try:
        # build_backend.py writes it.
        from ._installed import LIBRARY, TREE, VERSION  # type: ignore[import-not-found]

        return TREE, LIBRARY, VERSION
    except ImportError:  # this file is in the tree
        header = Path(__file__).resolve().parents[2] / "common" / "version.h"
        found = re.search(r'VERSION "(.*)"', header.read_text(encoding="utf-8"))
        assert found is not None
        return None, None, found[1]


_tree, LIBRARY, __version__ = _recorded()


def tree() -> Optional[Path]:
    """WARPBOOK_TREE, else the tree that this file is in, the one above the current
    folder, or the one that the package was installed from."""
    given = os.environ.get("WARPBOOK_TREE")
    if given:
        if not _is_tree(Path(given)):
            raise Error(
                f"WARPBOOK_TREE={given} is no tree of the workbook: it has no labs/"
            )
        return Path(given)
    here = Path(__file__).resolve().parents[2]
    recorded = [Path(_tree)] if _tree else []
    for folder in [here, Path.cwd(), *Path.cwd().parents, *recorded]:
        if _is_tree(folder):
            return folder
    return None


def build(name: str) -> Optional[Path]:
    """The newest build of a library in the tree; with BACKEND=cpu or cuda that one's."""
    root = tree()
    if root is None:
        return None
    folders = {"cuda": root / "build/cuda", "cpu": root / "build/cpu/shared"}
    backend = os.environ.get("BACKEND")
    if backend:
        folders = {backend: folders.get(backend, root / "build" / backend)}
    given = os.environ.get("WARPBOOK_BUILD")
    if given:
        folders = {"given": Path(given)}
    built = [f / name for f in folders.values() if (f / name).exists()]
    return max(built, key=lambda path: path.stat().st_mtime, default=None)
