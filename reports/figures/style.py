"""One look for every figure: colours that stay apart for colour-blind eyes and in grey, with shapes to match.

Colours: Okabe and Ito 2008, "Color Universal Design". INK is what pages replace by their own text colour.
"""

from typing import Any

INK = "#24292f"
QUIET = "#8c959f"
COLOURS = (INK, "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6fd1")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINE_STYLES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)), (0, (3, 1, 1, 1)))

SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "steeplechase",
    "svg.fonttype": "none",
    "text.parse_math": False,  # a name is a name, whatever dollar signs stand in it
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9.5,
    "lines.linewidth": 1.7,
    "lines.markersize": 5,
}
