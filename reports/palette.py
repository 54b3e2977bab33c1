"""CSS variables of the palette: each colour with a light and a dark value."""

import re

from reports.figures.style import DARK, LIGHT, Palette

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
