"""A page's colours: each colour of the palette as a CSS variable with a value for light and one for dark."""

import re

from reports.figures.style import DARK, LIGHT, Palette

STYLE_ATTRIBUTE = re.compile(r' style="[^"]*"')


def variables() -> str:
    """Return the rules that set the variables: light, and dark where the reader's system asks for it."""
    light, dark = (" ".join(f"{name}: {value};" for name, value in _named(each).items()) for each in (LIGHT, DARK))
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"


def following_the_page(svg: str) -> str:
    """Return a drawing whose colours are the page's variables; text that happens to name a colour stays as it is."""
    by_value = {value: f"var({name})" for name, value in _named(LIGHT).items()}
    colour = re.compile("|".join(by_value))
    return STYLE_ATTRIBUTE.sub(lambda style: colour.sub(lambda found: by_value[found[0]], style[0]), svg)


def _named(palette: Palette) -> dict[str, str]:
    series = {f"--series-{place}": value for place, value in enumerate(palette.series[1:], start=1)}
    return {
        "--ground": palette.ground,
        "--shade": palette.shade,
        "--text": palette.series[0],
        "--quiet": palette.quiet,
        **series,
    }
