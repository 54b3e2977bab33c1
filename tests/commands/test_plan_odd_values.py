"""Whatever value takes the place of another in an experiment of this repository, a refusal is lines, no traceback."""

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from runners.settings import Selection
from steeplechase.commands.plan import planned
from steeplechase.configuration.yaml.loader import scales
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.paths import EXPERIMENT_FILES, EXPERIMENTS

SCALE, NOWHERE = "smoke", Path("no_results")
REFUSED = (
    "baseline.architecture.heads=7",
    "baseline.objective={ kind: denoising }",
    "baseline.objective={ kind: mixed_visibility }",
    "baseline.recipe.sequence_length=1000000",
)
"""Values that most baselines refuse: sizes, objectives of other architectures, and positions."""
ODD = (
    "0",
    "-1",
    "3",
    "0.5",
    "1e30",
    ".nan",
    ".inf",
    "true",
    "null",
    "''",
    "x",
    "[]",
    "[1, 1]",
    "[x]",
    "{}",
    "{ x: 1 }",
)


def refusal_of(name: str, changes: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a refusal, none where the changed experiment is accepted and planned."""
    declared = scales(EXPERIMENTS / name)
    scale = SCALE if SCALE in declared else next(iter(declared), None)
    try:
        planned(EXPERIMENTS / name, Selection(scale=scale, out=NOWHERE, overrides=tuple(changes)))
    except ConfigurationError as refusal:
        return refusal.lines
    return ()


def keys_of(node: object, *above: str) -> Iterator[str]:
    """Yield the dotted paths of all mappings' keys."""
    for key, value in node.items() if isinstance(node, dict) else ():
        yield ".".join((*above, str(key)))
        yield from keys_of(value, *above, str(key))


@some.composite
def odd_changes(draw: some.DrawFn) -> tuple[str, list[str]]:
    """Draw an experiment and up to three of its values, at scale smoke or above the scales, that become odd ones."""
    name = draw(some.sampled_from(EXPERIMENT_FILES))
    document = yaml.safe_load((EXPERIMENTS / name).read_text(encoding="utf-8"))
    by_scale = document.pop("scales", {})
    keys = sorted({*keys_of(document), *keys_of(by_scale.get(SCALE, {}))})
    change = some.tuples(some.sampled_from(keys), some.sampled_from(ODD)).map("=".join)
    return name, draw(some.lists(change, min_size=1, max_size=3))


def test_other_rules_are_checked_beside_a_refused_baseline() -> None:
    """Every rule between sections can be asked of an experiment without arms; of every fourth experiment here."""
    pairs = zip(EXPERIMENT_FILES[::4], cycle(REFUSED), strict=False)
    lines = [line for name, one in pairs for line in refusal_of(name, [one])]
    assert [line for line in lines if line.count(": ") < 2] == []  # place, key and reason


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("evolved/tabulated/table.yaml", "design.max_candidates=1000000000", "at most 1000000 is allowed"),
        ("table3_pilot.yaml", "design.arms.convbert_small_4m.recipe.token_share=1e30", "which no count can hold"),
        ("table9.yaml", "design.arms.shared.convolution.value=3", "it must be 'own' or 'shared'"),
        ("mass/fragment_length.yaml", "baseline.architecture.kind={ x: 1 }", "is not a kind of architecture"),
        ("schubert/pruning.yaml", "pretraining.evaluations=1000000000", ""),
    ],
)
def test_values_that_once_ended_in_a_traceback_or_filled_the_memory(name: str, change: str, words: str) -> None:
    """The last one is accepted: a curve has at most one point after each update."""
    lines = refusal_of(name, [change])
    assert len(lines) == bool(words)
    assert all(words in line for line in lines)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(drawn=odd_changes())
def test_odd_values_are_planned_or_refused_in_lines(drawn: tuple[str, list[str]]) -> None:
    """Up to three values of any experiment at once."""
    name, changes = drawn
    assert all(": " in line for line in refusal_of(name, changes))
