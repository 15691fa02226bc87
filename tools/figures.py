"""figures.py [check] - draws the figures of the labs' guides, labs/*/*.svg. Readers see
dark colours if their system asks for them. check: fails if a file is not up to date.
Standard library only."""

import sys
from pathlib import Path

import figures_lab00
import figures_labs


def main():
    stale = []
    for draw in (*figures_lab00.FIGURES, *figures_labs.FIGURES):
        figure = draw()
        path = Path("labs", figure.name)
        if sys.argv[1:] != ["check"]:
            path.write_text(str(figure))
        elif not path.exists() or path.read_text() != str(figure):
            stale.append(str(path))
    if stale:
        sys.exit(f"{' '.join(stale)}: run make figures")


main()
