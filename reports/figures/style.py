"""Style of every figure and page: colours for a light and a dark background, markers and line styles.

The hues follow Okabe and Ito 2008, "Color Universal Design". Every colour has a contrast of at least 4.5:1 with its
background, which WCAG 2.2 requires of text (1.4.3; lines need 3:1, 1.4.11), because lines are labelled in their own
colour. Any two colours of a background differ for normal, protan, deutan and tritan vision.
"""

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Palette:
    """The colours on one background."""

    ground: str
    shade: str
    """Background of highlighted text."""
    quiet: str
    """Notes and axes."""
    series: tuple[str, ...]
    """Colours of a figure's series in order; the first is also the colour of text."""


LIGHT = Palette(
    ground="#ffffff",
    shade="#f6f8fa",
    quiet="#656d76",
    series=("#24292f", "#0072b2", "#bd4800", "#00654a", "#a8437c", "#6b4a00", "#0a3a80", "#8459e0"),
)
DARK = Palette(
    ground="#0d1117",
    shade="#151b23",
    quiet="#9198a1",
    series=("#e6edf3", "#56b4e9", "#f58a4b", "#2bde88", "#ffb7c4", "#efe317", "#a2d3ff", "#8771eb"),
)

INK, QUIET, COLOURS = LIGHT.series[0], LIGHT.quiet, LIGHT.series
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINE_STYLES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)), (0, (3, 1, 1, 1)))

SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "steeplechase",
    "svg.fonttype": "none",
    "text.parse_math": False,  # dollar signs in names are not mathematics
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana"],  # of one width; every text of an SVG repeats the list
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


STYLE_ATTRIBUTE = re.compile(r' style="[^"]*"')


def variables() -> str:
    """Return the CSS rules of the variables: light, and dark under `prefers-color-scheme: dark`."""
    light, dark = (
        " ".join(f"{name}: {value};" for name, value in _named(palette).items()) for palette in (LIGHT, DARK)
    )
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"


def following_the_page(svg: str) -> str:
    """Return an SVG with the page's colour variables in its style attributes; its text is not changed."""
    by_value = {value: f"var({name})" for name, value in _named(LIGHT).items()}
    colour = re.compile("|".join(by_value))
    return STYLE_ATTRIBUTE.sub(lambda style: colour.sub(lambda match: by_value[match[0]], style[0]), svg)


def _named(palette: Palette) -> dict[str, str]:
    series = {f"--series-{number}": value for number, value in enumerate(palette.series[1:], start=1)}
    return {
        "--ground": palette.ground,
        "--shade": palette.shade,
        "--text": palette.series[0],
        "--quiet": palette.quiet,
        **series,
    }
