"""Aligned gaps of the published Table 2 on Wikipedia equal an independent reading; exits are steady under noise."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.alignment import aligned
from analysis.plateau import Curve, Plateau
from configuration.arm import BASELINE
from ledger.csv_export import read_export
from ledger.snapshot import Snapshot, snapshot
from reports.number_format import difference_text, short
from reports.report import build
from reports.statistics import aligned_gaps
from reports.statistics.aligned_gaps import RATE, TOKENS, AlignedGaps, aligned_gaps_of, rate_integral
from reports.statistics.budgets import budget_gaps_of
from reports.statistics.results import Results, results_of
from search_space.recipe import Recipe
from search_space.schedule import ConstantSchedule, LinearSchedule
from tests.factories.paths import PUBLISHED, ROOT
from tests.factories.reports import Trial, document
from tests.factories.reports import snapshot as snapshot_of

SPAN = "span_dynamic"


@pytest.fixture(scope="module")
def wikipedia() -> Results:
    return results_of(snapshot(read_export(PUBLISHED / "table2-wikipedia-former")))


@pytest.fixture(scope="module")
def gaps(wikipedia: Results) -> AlignedGaps:
    found = aligned_gaps_of(wikipedia)
    assert found is not None
    return found


def first_below(curve: Curve, level: float, window: int) -> float:
    """Return where the running mean first is below a level: at the middle of its window."""
    tokens = sorted(curve)
    means = np.convolve([curve[at] for at in tokens], np.ones(window) / window, "valid")
    return float(tokens[int(np.argmax(means < level)) + window // 2])


def test_with_a_running_mean_below_five_nats_the_gaps_are_those_of_an_independent_reading(
    wikipedia: Results,
) -> None:
    arms = {arm.name: arm for arm in wikipedia.arms if arm.name in (BASELINE, SPAN)}
    trials = {name: aligned_gaps._trials(arm, wikipedia.trials[name]) for name, arm in arms.items()}
    exits = {one.name: first_below(one.train, 5.0, 9) for each in trials.values() for one in each.values()}
    plateau = Plateau(5.0, exits, frozenset())
    found: dict[str, list[float]] = {}
    for kind in (TOKENS, RATE):
        for seed in (1, 2, 3):
            runs = [
                aligned_gaps._run(trials[name][seed], plateau, kind, wikipedia.experiment.pretraining.tokens)
                for name in (BASELINE, SPAN)
            ]
            losses = aligned(*runs)
            assert losses is not None
            found.setdefault(kind, []).append(losses[0] - losses[1])
    assert found[TOKENS] == pytest.approx([0.67, 0.77, 0.78], abs=0.01)
    assert found[RATE] == pytest.approx([0.35, 0.47, 0.48], abs=0.01)


def test_the_exits_are_where_the_held_out_loss_begins_to_fall(wikipedia: Results, gaps: AlignedGaps) -> None:
    for history, at in zip(wikipedia.trials[BASELINE], gaps.baseline_exits, strict=True):
        (record,) = history.finished("pretrain")
        curve = record.result.held_out  # type: ignore[union-attr]
        assert at is not None
        before = [loss for tokens, loss in curve.items() if tokens < at]
        after = [loss for tokens, loss in curve.items() if tokens > at + 2e6]
        assert max(before) - min(before) < 0.25
        assert min(before) - max(after) > 0.5


def test_the_level_is_the_loss_of_a_model_that_knows_token_frequencies_alone(gaps: AlignedGaps) -> None:
    entropy = 6.122  # nats, of the training split's tokens without [SEP]
    masked = 0.85  # of the predicted tokens; the others stay as they are and can be read off
    assert gaps.level == pytest.approx(masked * entropy, abs=0.02)


def test_most_of_the_gap_on_wikipedia_is_the_later_start(gaps: AlignedGaps) -> None:
    span = next(gap for gap in gaps.gaps if gap.arm == SPAN)
    raw, tokens, rate = (difference.delta for difference in (span.raw, span.tokens, span.rate))
    assert raw == pytest.approx(-0.825, abs=5e-4)
    assert raw < tokens < rate < 0  # type: ignore[operator]
    assert span.rate.low < 0 < span.rate.high  # type: ignore[operator]


@pytest.mark.parametrize("name", ["table2-wikipedia-former", "table2-laptop"])
def test_the_documents_rows_are_what_the_ledgers_give(name: str) -> None:
    found = aligned_gaps_of(results_of(snapshot(read_export(PUBLISHED / name))))
    assert found is not None
    span = next(gap for gap in found.gaps if gap.arm == SPAN)
    shown = " | ".join(difference_text(each, 3) for each in (span.raw, span.tokens, span.rate))
    lines = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| `{name}` |")]
    assert row.endswith(f"{shown} |")
    for exits, cell in zip((found.baseline_exits, span.exits), row.split(" | ")[1:3], strict=True):
        ends = dict.fromkeys(short(round(each)) for each in (min(exits), max(exits)))  # type: ignore[type-var, arg-type]
        assert [float(end.rstrip("Mk")) for end in cell.split(" to ")] == pytest.approx(
            [float(end[:-1]) / (1000 if end.endswith("k") else 1) for end in ends], abs=0.006
        )


@pytest.mark.parametrize("schedule", [LinearSchedule(warmup_tokens=1000), ConstantSchedule(warmup_tokens=1000)])
@pytest.mark.parametrize("updates", [1, 7, 9001])
def test_the_integral_is_the_sum_of_the_rates(schedule: LinearSchedule | ConstantSchedule, updates: int) -> None:
    recipe = Recipe(sequence_length=8, batch_sequences=2, schedule=schedule)
    horizon = updates * recipe.tokens_per_step
    sums = np.cumsum([recipe.rate_at(step, horizon) for step in range(updates)])
    progress = rate_integral(recipe, updates)
    for step in {0, updates // 3, updates // 2, updates - 1}:
        assert progress.at((step + 1) * recipe.tokens_per_step) == pytest.approx(sums[step], rel=1e-4)


def trained(arm: str, seed: int, exit_share: float | None, floor: float = 3.0) -> Trial:
    """Return a trial of 2M tokens that leaves a plateau of 5 nats where it is said to."""
    at = np.arange(1, 201) * 10_000
    since = np.maximum(at / (2_000_000 * exit_share), 1.0) if exit_share else np.ones(200)
    losses = 5 + 2 * np.exp(-at / 12_000) - (5 - floor) * (1 - since**-1.2)
    noise = np.random.default_rng([seed, len(arm)]).normal(0, 0.05, 200)
    result = {
        "tokens": 2_000_000,
        "held_out_loss": float(losses[-1]),
        "held_out_curve": [[int(t), float(v)] for t, v in zip(at[9::10], losses[9::10], strict=True)],
        "train_curve": [[int(t), float(v)] for t, v in zip(at, losses + noise, strict=True)],
    }
    return Trial(arm, seed).record("pretrain", "pretrain@2000000", result)


def test_a_seed_that_never_leaves_is_stated_and_counted_in_no_column() -> None:
    trials = [trained(BASELINE, seed, 0.4) for seed in (1, 2, 3)]
    trials += [trained("late", seed, None if seed == 2 else 0.6) for seed in (1, 2, 3)]
    report = build(snapshot_of(trials, arms={BASELINE: {}, "late": {"heads": 2}}, resolved=document()))
    (row,) = next(table for table in report.tables if table.name == "aligned_gaps").rows
    assert (row["exits"], row["never_left"]) == (2, 1)
    assert row["n_raw"] == row["n_tokens"] == row["n_rate"] == 2
    (grid,) = [grid for grid in report.grids if grid.name == "aligned_gaps"]
    assert "1 never" in grid.rows[0][1].text


def test_a_baseline_that_never_leaves_gives_no_gaps() -> None:
    trials = [trained(BASELINE, seed, None) for seed in (1, 2)] + [trained("quick", seed, 0.1) for seed in (1, 2)]
    report = build(snapshot_of(trials, arms={BASELINE: {}, "quick": {"heads": 2}}, resolved=document()))
    assert not [table for table in report.tables if table.name == "aligned_gaps"]


def two_budgets(seeds: tuple[int, ...] = (1, 2, 3)) -> Snapshot:
    """Return two architectures at one and two shares of the tokens."""
    shares = {"": 1.0, "_2x": 2.0}
    arms = {
        f"{name}{ending}": {"recipe.token_share": share}
        for name in (BASELINE, SPAN)
        for ending, share in shares.items()
    }
    trials = [
        Trial(arm, seed).pretrained(
            5.0 - (arm.startswith(SPAN)) - 0.5 * arm.endswith("_2x") * (1 + arm.startswith(SPAN))
        )
        for arm in arms
        for seed in seeds
    ]
    found = snapshot_of(trials, arms=arms, resolved=document())
    rows = []
    for arm in found.arms:
        architecture = arm.candidate.architecture.model_copy(update={"heads": 2 if arm.name.startswith(SPAN) else 4})
        recipe = arm.candidate.recipe.model_copy(update={"token_share": arms[arm.name]["recipe.token_share"]})
        candidate = arm.candidate.model_copy(update={"architecture": architecture, "recipe": recipe})
        rows.append(replace(arm, candidate=candidate))
    return replace(found, arms=tuple(rows))


def test_gaps_by_budget_are_to_the_baseline_of_the_same_budget() -> None:
    gaps = budget_gaps_of(results_of(two_budgets()))
    assert [(gap.architecture, gap.arm, gap.reference, gap.tokens) for gap in gaps] == [
        (SPAN, SPAN, BASELINE, 2_000_000),
        (SPAN, f"{SPAN}_2x", f"{BASELINE}_2x", 4_000_000),
    ]
    assert [gap.difference.delta for gap in gaps] == pytest.approx([-1.0, -1.5])
    assert all(gap.difference.n == 3 for gap in gaps)


def test_the_figure_by_budget_has_the_rows_of_the_table_and_a_line_per_architecture() -> None:
    built = build(two_budgets())
    (picture,) = (each for each in built.pictures if each.name == "gap_by_budget")
    (by_budget,) = (each for each in built.tables if each.name == "gap_by_budget")
    assert picture.numbers.rows == by_budget.rows
    for draw in (picture.figure.draw, picture.figure.draw_narrow):
        assert draw is not None
        (axes,) = draw(picture.data).axes
        (line,) = (each for each in axes.lines if len(each.get_xdata()) == 2 and each.get_marker() != "None")
        assert [*line.get_ydata()] == pytest.approx([-1.0, -1.5])


def test_one_seed_has_no_interval_in_the_figure_by_budget() -> None:
    (picture,) = (each for each in build(two_budgets((1,))).pictures if each.name == "gap_by_budget")
    (axes,) = picture.figure.draw(picture.data).axes
    assert not axes.collections
    assert "interval" not in axes.get_title()
