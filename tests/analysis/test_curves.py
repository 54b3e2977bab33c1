"""Points of learning curves: where a loss is crossed, and exits from plateaus, planted and in any unit."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.statistics.tokens_to_loss import Censored, Crossing, crossing
from steeplechase.analysis.plateau import FEWEST_POINTS, Curve, plateau_of
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.stage_results import Pretraining
from tests.factories.paths import PUBLISHED

CURVE = {100: 6.0, 200: 5.0, 400: 5.5, 800: 3.0}


@pytest.mark.parametrize(
    ("level", "after", "until"), [(5.9, 100, 200), (5.0, 100, 200), (4.9, 400, 800), (3.0, 400, 800)]
)
def test_the_first_crossing_is_interpolated_in_the_logarithm(level: float, after: int, until: int) -> None:
    """A later rise above the level does not move its first crossing."""
    found = crossing(CURVE, level)
    assert isinstance(found, Crossing)
    assert (found.after, found.until) == (after, until)
    expected = exp(np.interp(-level, [-CURVE[after], -CURVE[until]], [log(after), log(until)]))
    assert found.tokens == pytest.approx(expected)


@pytest.mark.parametrize(("level", "before"), [(6.0, 100), (7.0, 100), (2.9, None)])
def test_a_crossing_outside_the_evaluations_is_not_made_up(level: float, before: int | None) -> None:
    """The first evaluation may be below the level already, or none may be."""
    assert crossing(CURVE, level) == Censored(before)
    assert crossing({}, level) == Censored(None)


POINTS, STEP = 200, 80_000


def curve(exit_at: int | None, drop: float = 1.5, level: float = 5.2, noise: float = 0.0, seed: int = 0) -> Curve:
    """Return a descent to the level, the plateau, and from the exit on a power law with a floor."""
    at = np.arange(1, POINTS + 1) * STEP
    losses = level + 1.5 * np.exp(-at / (1.2 * STEP))
    if exit_at is not None:
        losses -= drop * (1 - np.maximum(at / exit_at, 1.0) ** -1.2)
    losses += np.random.default_rng(seed).normal(0, noise, POINTS) if noise else 0
    return dict(zip(at.tolist(), losses.tolist(), strict=True))


@given(st.integers(20, 150), st.floats(0.5, 3.0))
def test_a_planted_exit_is_found_to_a_few_points(place: int, drop: float) -> None:
    found = plateau_of(
        {"planted": curve(place * STEP, drop, noise=0.01), "late": curve(170 * STEP, noise=0.01, seed=1)}
    )
    assert found is not None
    assert found.exits["planted"] == pytest.approx(place * STEP, abs=4 * STEP)


def test_a_later_start_is_a_later_exit_and_noise_of_single_batches_decides_nothing() -> None:
    places = [10, 40, 60, 95, 120]
    curves = {str(place): curve(place * STEP, noise=0.15, seed=place) for place in places}
    found = plateau_of(curves)
    assert found is not None
    exits = [found.exits[str(place)] for place in places]
    assert exits == sorted(exits, key=lambda at: at or 0)
    assert found.level == pytest.approx(5.2, abs=0.05)
    assert exits == pytest.approx([place * STEP for place in places], abs=12 * STEP)


def test_a_curve_that_stays_has_no_exit() -> None:
    curves = {"stays": curve(None, noise=0.3), "leaves": curve(80 * STEP, noise=0.3, seed=1)}
    found = plateau_of(curves)
    assert found is not None
    assert found.exits["stays"] is None
    assert found.exits["leaves"] is not None
    assert "stays" in found.on_plateau


def test_false_exits_are_rare() -> None:
    found = plateau_of({str(seed): curve(None, noise=0.3, seed=seed) for seed in range(200)})
    assert found is not None
    assert sum(at is not None for at in found.exits.values()) <= 10


def test_without_a_plateau_there_is_no_exit() -> None:
    at = np.arange(1, POINTS + 1) * STEP
    falling = {str(n): dict(zip(at.tolist(), (2 + n * (at / STEP) ** -0.4).tolist(), strict=True)) for n in (3, 4)}
    assert plateau_of(falling) is None
    assert plateau_of({}) is None
    assert plateau_of({"short": dict(list(curve(None).items())[: FEWEST_POINTS - 1])}) is None


def test_the_level_of_published_curves_is_the_loss_of_a_model_that_knows_token_frequencies_alone() -> None:
    records = read_export(PUBLISHED / "table2-wikipedia-former").records()
    curves = {each.trial: dict(each.result.train_curve) for each in records if isinstance(each.result, Pretraining)}
    found = plateau_of({name: curve for name, curve in curves.items() if name is not None})
    entropy = 6.122  # nats, of the training split's tokens without [SEP]
    masked = 0.85  # of the predicted tokens; the others stay as they are and can be read off
    assert found is not None
    assert found.level == pytest.approx(masked * entropy, abs=0.02)
    assert all(at is not None for name, at in found.exits.items() if name.startswith("baseline/"))
