"""drawing.py - an SVG figure in light and dark colours. Standard library only."""

import math

STYLE = """
  .bg { fill: #ffffff } text, .t { fill: #1f2328 } .dim { fill: #59636e }
  .l { stroke: #59636e; fill: none } .r { stroke: #1f2328; fill: none; stroke-width: 2 }
  rect.a, rect.b, rect.c, rect.d, rect.e { stroke: #59636e; stroke-width: 0.7 }
  .a { fill: #bcd9f5 } .b { fill: #f8d3bd } .c { fill: #cdeac4 } .d { fill: #e4cdf0 }
  .e { fill: #eef0f2 } .m { fill: #5ba3e0; stroke: #59636e; stroke-width: 0.7 }
  .p, .q, .s { fill: none; stroke-width: 2 } .s { stroke: #8b949e; stroke-dasharray: 6 4 }
  .p { stroke: #1f6fb4 } .q { stroke: #c8501e }
  @media (prefers-color-scheme: dark) {
    .bg { fill: #0d1117 } text, .t { fill: #e6edf3 } .dim { fill: #9da7b3 }
    .l { stroke: #9da7b3 } .r { stroke: #e6edf3 }
    rect.a, rect.b, rect.c, rect.d, rect.e { stroke: #9da7b3 }
    .a { fill: #1d4f7c } .b { fill: #8a4b26 } .c { fill: #2c6428 } .d { fill: #5b3a75 }
    .e { fill: #262c34 } .m { fill: #3d8fd6 }
    .p { stroke: #58a6ff } .q { stroke: #f0883e }
  }
"""


class Figure:
    """A file of a lab's folder: name is lab04_softmax/online.svg."""

    def __init__(self, name, title, width, height):
        self.name = name
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="sans-serif" font-size="13">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="bg" width="{width}" height="{height}"/>',
        ]

    def text(self, x, y, words, anchor="start", size=13, kind="t", bold=False):
        weight = ' font-weight="bold"' if bold else ""
        self.lines.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" '
            f'class="{kind}"{weight}>{words}</text>'
        )

    def box(self, x, y, width, height, kind, words="", size=13):
        self.lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}"/>'
        )
        if words:
            self.text(x + width / 2, y + height / 2 + size / 3, words, "middle", size)

    def line(self, *points, kind="l"):
        path = " L".join(f"{x:g},{y:g}" for x, y in points)
        self.lines.append(f'<path d="M{path}" class="{kind}"/>')

    def curve(self, x1, x2, y, height):
        """An arc from (x1, y) to (x2, y), upwards"""
        self.lines.append(
            f'<path d="M{x1:g},{y:g} C{x1:g},{y - height:g} {x2:g},{y - height:g} '
            f'{x2:g},{y:g}" class="l"/>'
        )

    def arrow(self, x1, y1, x2, y2):
        self.line((x1, y1), (x2, y2))
        length = math.hypot(x2 - x1, y2 - y1)
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        corners = [(x2, y2)] + [
            (x2 - 8 * ux + side * uy, y2 - 8 * uy - side * ux) for side in (4, -4)
        ]
        points = " L".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        self.lines.append(f'<path d="M{points} Z" class="t"/>')

    def dot(self, x, y, kind):
        self.lines.append(f'<circle cx="{x:g}" cy="{y:g}" r="6" class="{kind}"/>')
        self.lines.append(f'<circle cx="{x:g}" cy="{y:g}" r="6" class="l"/>')

    def __str__(self):
        return "\n".join([*self.lines, "</svg>"]) + "\n"
