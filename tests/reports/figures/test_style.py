"""Palettes: contrast by WCAG 2.2 and differences under colour vision deficiency, computed from the definitions."""

from itertools import combinations

import numpy as np
import pytest

from reports.figures.style import DARK, LIGHT, LINE_STYLES, MARKERS, Palette

PALETTES = {"light": LIGHT, "dark": DARK}
TEXT, LINES = 4.5, 3.0
"""WCAG 2.2, success criteria 1.4.3 and 1.4.11."""
VISION = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB."""
APART = 0.06
"""In Oklab (Ottosson 2020), where a just noticeable difference is about 0.02."""


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[position : position + 2], 16) / 255 for position in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    weights = (0.2126, 0.7152, 0.0722)
    dark, light = sorted(float(linear(colour) @ weights) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def oklab(rgb: np.ndarray) -> np.ndarray:
    cones = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566]]
    cones.append([0.0883024619, 0.2817188376, 0.6299787005])
    axes = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099]]
    axes.append([0.0259040371, 0.7827717662, -0.8086757660])
    return np.array(axes) @ np.cbrt(np.array(cones) @ np.clip(rgb, 0, 1))


def test_the_measures_are_right() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the known near miss
    assert oklab(linear("#ffffff")) == pytest.approx((1, 0, 0), abs=1e-3)


@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
def test_every_colour_has_contrast_on_its_background(palette: Palette) -> None:
    assert {colour: contrast(colour, palette.ground) for colour in palette.series if _low(colour, palette)} == {}
    for text in (palette.series[0], palette.series[1], palette.quiet):  # text, links and notes are also on the shade
        assert min(contrast(text, ground) for ground in (palette.ground, palette.shade)) >= TEXT
    assert contrast(palette.quiet, palette.ground) >= LINES


def _low(colour: str, palette: Palette) -> bool:
    return contrast(colour, palette.ground) < TEXT  # lines are labelled in their colour, and text needs more contrast


@pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES)
@pytest.mark.parametrize("vision", VISION)
def test_any_two_series_differ_for_every_colour_vision(palette: Palette, vision: str) -> None:
    seen = {colour: oklab(np.array(VISION[vision]) @ linear(colour)) for colour in palette.series}
    close = [pair for pair in combinations(seen, 2) if np.linalg.norm(seen[pair[0]] - seen[pair[1]]) < APART]
    assert close == []


def test_each_series_has_its_own_marker_and_line_style() -> None:
    assert len(LIGHT.series) == len(DARK.series) == len(set(MARKERS)) == len(set(LINE_STYLES))
