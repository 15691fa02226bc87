"""example.py - the engine from Python: continues a text by 100 tokens.

    make python && pip install ./python     # in the tree of the workbook
    python example.py runs/laptop-griffin/best "ROMEO:"

or, after make install, without the tree:

    pip install /usr/local/share/warpbook/warpbook-*.whl
"""
import sys

import warpbook

if len(sys.argv) != 3:
    sys.exit("usage: example.py FOLDER TEXT")
try:
    with warpbook.Model.open(sys.argv[1], temperature=0.8, context=2048) as model:
        for piece in model.generate(sys.argv[2], 100):
            print(piece, end="", flush=True)
        print()
except warpbook.Error as error:
    sys.exit(str(error))
