"""Turns what a terminal shows into an SVG.

usage: scripts/terminal-to-svg.py COLUMNS ROWS light|dark [TEXT=OTHER ...] <ANSI >SVG

Reads the output of `tmux capture-pane -e -p`. Each TEXT is shown as OTHER, so that no folder of the machine is in a
picture. Only the standard library is needed.
"""

import html
import re
import sys
import unicodedata

if {"-h", "--help"} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8, 18, 12
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"

# Background, foreground, dimmed, and the colours 1 to 6 of a terminal.
THEMES = {
    "light": ["#ffffff", "#1f2328", "#6e7781", "#cf222e", "#116329", "#8a5a00", "#0550ae", "#8250df", "#0b6e79"],
    "dark": ["#0d1117", "#e6edf3", "#8b949e", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf"],
}

PLAIN = {"color": None, "bold": False, "dim": False, "reversed": False}


def changed(style, codes):
    """Returns a style after the numbers of one escape sequence."""
    style = dict(style)
    numbers = [int(code or 0) for code in codes.split(";")]
    while numbers:
        number = numbers.pop(0)
        if number == 0:
            style = dict(PLAIN)
        elif number == 1:
            style["bold"] = True
        elif number == 2:
            style["dim"] = True
        elif number == 7:
            style["reversed"] = True
        elif number == 22:
            style["bold"] = style["dim"] = False
        elif number == 27:
            style["reversed"] = False
        elif 30 <= number <= 37:
            style["color"] = number - 30
        elif 90 <= number <= 97:
            style["color"] = number - 90
        elif number == 39:
            style["color"] = None
        elif number in (38, 48) and numbers[:1] == [5]:
            color = numbers[1]
            numbers = numbers[2:]
            if number == 38:
                style["color"] = color % 8
    return style


def runs(line, style):
    """Returns the texts of a line with their styles, and the style behind it."""
    found = []
    for number, part in enumerate(re.split("\x1b\\[([0-9;]*)m", line)):
        if number % 2:
            style = changed(style, part)
        elif part:
            found.append((part, style))
    return found, style


def width(text):
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def main():
    columns, rows, theme = int(sys.argv[1]), int(sys.argv[2]), THEMES[sys.argv[3]]
    background, foreground, dimmed = theme[:3]
    replaced = [pair.split("=", 1) for pair in sys.argv[4:]]
    wide, high = columns * CELL_WIDTH + 2 * MARGIN, rows * CELL_HEIGHT + 2 * MARGIN
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'font-family="{FONT}" font-size="13" fill="{foreground}">'
    )
    print(f'<rect width="{wide}" height="{high}" rx="6" fill="{background}"/>')
    style = dict(PLAIN)
    for row, line in enumerate(sys.stdin.read().split("\n")[:rows]):
        for text, other in replaced:
            line = line.replace(text, other)
        found, style = runs(line, style)
        column = 0
        for text, how in found:
            x, y, span = MARGIN + column * CELL_WIDTH, MARGIN + row * CELL_HEIGHT, width(text)
            column += span
            color = foreground if how["color"] in (None, 0, 7) else theme[2 + how["color"]]
            if how["dim"] and color == foreground:
                color = dimmed
            if how["reversed"]:
                box = f'width="{span * CELL_WIDTH}" height="{CELL_HEIGHT}" fill="{color}"'
                print(f'<rect x="{x}" y="{y}" {box}/>')
                color = background
            # Spaces at the ends of a text are places, not text.
            start = len(text) - len(text.lstrip(" "))
            text = text.strip(" ")
            if not text:
                continue
            weight = ' font-weight="bold"' if how["bold"] else ""
            fill = "" if color == foreground else f' fill="{color}"'
            print(
                f'<text x="{x + start * CELL_WIDTH}" y="{y + 13}" textLength="{width(text) * CELL_WIDTH}" '
                f'xml:space="preserve"{fill}{weight}>{html.escape(text, quote=False)}</text>'
            )
    print("</svg>")


main()
