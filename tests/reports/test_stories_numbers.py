"""Numbers other than intervals in the texts about published reports: each is computed from rows.

A fragment of a story is written here with computed numbers; if rows or story change alone, the story does not contain
the fragment.
"""

from collections.abc import Iterator
from itertools import combinations
from statistics import fmean, stdev

import pytest

from analysis.difference import Difference
from configuration.metrics import HELD_OUT_LOSS, SCORE
from configuration.stage_label import StageLabel
from ledger.csv_export import read_export
from ledger.records import final_loss_of
from ledger.stage_results import AttentionResult
from reports.statistics.metrics import Metric
from tests.reports.story_values import (
    LOSS,
    claims_shown,
    csv_rows,
    difference_in,
    differences,
    headline_cells,
    mean_and_deviation,
    missing_from,
    of_arms,
    report,
    signed,
    smallest_claim_p,
    smallest_p,
    span,
    table,
    values,
)
from tests.reports.test_stories import PUBLISHED

scipy_stats = pytest.importorskip("scipy.stats", reason="the independent statistics are scipy's")
CONVOLUTIONS = ("depthwise", "lightweight", "dynamic", "span_dynamic")


def table2_laptop() -> Iterator[str]:
    name, score = "table2-laptop", Metric(SCORE)
    baseline, bottleneck = values(name, "baseline"), values(name, "bottleneck")
    yield f"the baseline's seeds end from {span(baseline)} nats (sd {stdev(baseline):.2f})"
    yield f"the bottleneck's from {span(bottleneck)} (sd {stdev(bottleneck):.2f})"
    spreads = [stdev(values(name, arm)) for arm in CONVOLUTIONS]
    yield f"the arms with a convolution have an sd of {span(spreads, 3)}"
    p = [max(report(name).comparison(arm, each).p_adjusted or 0.0 for arm in CONVOLUTIONS) for each in (LOSS, score)]
    yield f"is at most {p[0] + 0.0005:.3f} on loss and {p[1]:.3f} on the score"
    decided = [row for row in table(name, "claims") if row["verdict"] != "undecided"]
    assert (len(decided), len(table(name, "claims"))) == (6, 8)
    by_loss = sorted(CONVOLUTIONS, key=lambda arm: fmean(values(name, arm)))
    assert by_loss == sorted(CONVOLUTIONS, key=lambda arm: fmean(values(name, arm, SCORE)))
    assert by_loss[:2] == ["span_dynamic", "dynamic"]
    gaps = {row["arm"]: row for row in table(name, "aligned_gaps")}
    for arm, text in (("span_dynamic", "it is {} nats {} for span-based"), ("depthwise", "and {} {} for depthwise")):
        delta, low, high = (float(gaps[arm][f"{part}_rate"]) for part in ("delta", "low", "high"))
        yield text.format(f"−{abs(delta):.3f}", signed(low, high))
    arms = [fmean(values(name, arm.name, "docs_acceptability")) for arm in report(name).arms]
    yield f"a Matthews correlation of {fmean(arms):.1f}, does not exceed"
    yield f"of single arms it is {span(arms, 0)}"


def table2_wikipedia() -> Iterator[str]:
    name = "table2-wikipedia"
    squad = Metric("squad_v1_1")
    baseline = values(name, "baseline")
    assert {report(name).effect(arm.name, LOSS).n for arm in report(name).arms} == {8}
    yield f"ends from {span(baseline)} nats (sd {stdev(baseline):.2f})"
    yield f"true difference of {span(of_arms(name, CONVOLUTIONS, 'smallest_effect'), 3)} nats"
    assert max(report(name).comparison(arm, LOSS).p_adjusted or 0.0 for arm in CONVOLUTIONS) <= 0.001
    p_values = [report(name).comparison(arm, squad).p_adjusted or 0.0 for arm in CONVOLUTIONS]
    yield f"span-based: p {', '.join(f'{p:.3f}' for p in p_values)})"
    assert len(list(headline_cells(name))) == 10
    bottleneck = report(name).comparison("bottleneck", LOSS).p_adjusted
    yield f"[+0.230, +0.828], p {bottleneck:.3f})"
    yield f"and ends from {span(values(name, 'bottleneck'))} nats"
    assert 8 <= fmean(values(name, "span_dynamic", squad.name)) <= fmean(values(name, "depthwise", squad.name)) < 9.5
    wide, narrow = (
        report(each).difference("span_dynamic", "dynamic", LOSS) for each in ("table2-wikipedia-former", name)
    )
    assert width(narrow) / width(wide) == pytest.approx(0.25, abs=0.05)


def width(difference: Difference) -> float:
    assert difference.low is not None
    assert difference.high is not None
    return difference.high - difference.low


def table2_wikipedia_former() -> Iterator[str]:
    name = "table2-wikipedia-former"
    baseline = values(name, "baseline")
    yield f"ends from {span(baseline)} nats (sd {stdev(baseline):.2f}"
    yield f"true difference of {span(of_arms(name, CONVOLUTIONS, 'smallest_effect'), 3)} nats"
    yield f"where it is {span(of_arms('table2-laptop', CONVOLUTIONS, 'smallest_effect'), 3)} at `laptop` with five"
    p_values = [report(name).comparison(arm, LOSS).p_adjusted for arm in CONVOLUTIONS]
    yield f"span-based: p {', '.join(f'{p:.3f}' for p in p_values if p is not None)})"
    tests = [report(name).comparison(arm, Metric(SCORE)) for arm in CONVOLUTIONS]
    deltas = [report(name).effect(arm, Metric(SCORE)).difference.delta or 0.0 for arm in CONVOLUTIONS]
    yield f"(smallest p {smallest_p(name, Metric(SCORE)):.3f})"
    yield f"the largest difference is {max(map(abs, deltas)):.1f} points"
    yield f"the minimum detectable ones {span([test.smallest_effect or 0.0 for test in tests], 1)}"
    below = [-each for each in differences(name, "span_dynamic", "depthwise")]
    yield "in every seed, by {:.3f}, {:.3f} and {:.3f} nats".format(*below)
    yield "({:.2f}, {:.2f} and {:.2f} nats)".format(*sorted(values(name, "bottleneck")))


def heads() -> Iterator[str]:
    folder, score = "heads-laptop", Metric(SCORE)
    rows = {row["effect"]: row for row in table(folder, "factors") if row["metric"] == HELD_OUT_LOSS}
    four = "bottleneck_ratio=4 (where both are: heads=4, heads=8)"
    for effect, start in (("bottleneck_ratio=2", "ends {} nats above γ = 1"), (four, "γ = 4 {}")):
        delta, low, high, p = (float(rows[effect][name]) for name in ("delta", "low", "high", "p_holm"))
        assert p < 0.001
        yield f"{start.format(f'{delta:.3f}')} {signed(low, high)} (p below 0.001"
    of_heads = [rows[f"heads={n} (where both are: bottleneck_ratio=1, bottleneck_ratio=2)"]["p_holm"] for n in (4, 8)]
    yield "(p {:.3f} and {:.3f})".format(*map(float, of_heads))
    arms = [arm.name for arm in report(folder).arms if arm.name != "baseline"]
    for metric, unit in ((LOSS, "{} nats below it"), (score, "{} points of F1")):
        decimals = 2 if metric == LOSS else 1
        deltas = [abs(report(folder).effect(arm, metric).difference.delta or 0.0) for arm in arms]
        yield unit.format(span(deltas, decimals))
    p = [max(report(folder).comparison(arm, each).p_adjusted or 0.0 for arm in arms) for each in (LOSS, score)]
    yield f"at most {p[0]:.4f} and {p[1]:.3f})"
    for arm in ("baseline", *arms):
        yield mean_and_deviation(values(folder, arm), 3)
    gaps = {row["arm"]: row for row in table(folder, "aligned_gaps")}
    later = [1 - float(gaps[arm]["delta_rate"]) / float(gaps[arm]["delta_raw"]) for arm in arms]
    yield f"Of the gaps in loss {100 * min(later):.0f}% to {100 * max(later):.0f}% is a later start"


def table8() -> Iterator[str]:
    shares: dict[str, list[float]] = {}
    for record in read_export(PUBLISHED / "table8-laptop").records():
        if isinstance(record.result, AttentionResult):
            rows = record.result.heads
            whole, text = sum(row[2] + row[3] for row in rows), sum(row[4] + row[5] for row in rows)
            shares.setdefault(str(record.trial).rpartition("/")[0], []).append(100 * (1 - text / whole))
    without, beside = shares["baseline"] + shares["bottleneck"], shares["dynamic"] + shares["span_dynamic"]
    yield f"take {min(without):.0f}% to {max(without):.0f}% of the mass without a convolution"
    yield f"and {min(beside):.0f}% to {max(beside):.0f}% with one"
    p = [report(name).comparison("span_dynamic", LOSS).p_adjusted for name in ("table8-laptop", "table2-laptop")]
    yield f"(p {p[0]:.3f} and {p[1]:.3f} for span-based)"


def kendall(pairs: list[tuple[float, float]]) -> float:
    return float(scipy_stats.kendalltau(*zip(*pairs, strict=True)).statistic)


def search() -> Iterator[str]:
    losses: dict[str, dict[int, float]] = {}
    rows = read_export(PUBLISHED / "search-laptop")
    for record in rows.records():
        if record.stage == "pretrain" and record.trial:
            loss, mark = final_loss_of(record), StageLabel.parse(record.label).tokens
            assert loss is not None
            assert mark is not None
            losses.setdefault(record.trial, {})[mark] = loss
    stopped = {decision.trial for decision in rows.decisions() if not decision.cleared}
    passed = len(losses) - len(stopped)
    yield f"{len(stopped)} of the {len(losses)} trials were stopped, and {passed} passed every hurdle"
    mark, end = 3_600_000, 18_000_000
    candidates = {arm.name: arm.candidate for arm in rows.arms()}
    kinds = {name: candidate.architecture.convolution.kind for name, candidate in candidates.items()}
    plain = [trial for trial in losses if kinds[trial.partition("/")[0]] == "none"]
    first = {trial: loss[mark] for trial, loss in losses.items()}
    without = [first[trial] for trial in plain if trial in stopped]
    beside = [first[trial] for trial in first if trial not in plain]
    yield f"they had {span(without)} nats, those with a convolution {span(beside)}"
    yield f"the baseline, with {first['baseline/1']:.2f} there"
    assert {trial for trial in plain if trial not in stopped} == {"baseline/1"}
    through = min(loss[end] for trial, loss in losses.items() if trial not in stopped)
    audited = min(loss[end] for trial, loss in losses.items() if trial in stopped and end in loss)
    yield f"{audited:.3f} nats against {through:.3f} of the lowest survivor"
    yield f"{len(candidates) - 1} candidates and the baseline in cohorts"
    yield f"({losses['candidate-014/1'][end]:.3f} nats with that seed)"
    yield f"regret of the hurdles is {through - audited:.3f} nats"
    ended = {
        trial: (loss[mark], loss[end]) for trial, loss in losses.items() if end in loss and trial != "baseline/1"
    }
    convolved = [pair for trial, pair in ended.items() if trial not in plain]
    yield f"is {kendall([*ended.values()]):.2f} at the first hurdle"
    yield f"and {kendall(convolved):.2f} among the {len(convolved)} trials with a convolution"
    swapped = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(convolved, 2))
    yield f"where {100 * swapped / len([*combinations(convolved, 2)]):.0f}% of the pairs change places"


def table1() -> Iterator[str]:
    name = "table1-laptop"
    yield from claims_shown(name, {"held_out_loss": 3})
    for metric, decimals in ((LOSS, 4), (Metric("score"), 3)):
        found = [report(name).comparison(arm, metric).p_adjusted or 0.0 for arm in ("+span", "+groups", "+wider")]
        yield f"at most {max(found):.{decimals}f})"
    rows = {row["claim"]: row for row in table(name, "claims")}
    level, wider = (rows[claim] for claim in LADDER)
    yield f"excludes a loss increase of more than {float(level['high']):.3f} nats"
    yield f"by {float(wider['delta']):.3f} nats, {difference_in(wider, 3).partition(' ')[2]} without correction"


LADDER = (
    "held_out_loss(+groups) ~ held_out_loss(+span) within 0.02",
    "held_out_loss(+wider) < held_out_loss(+groups)",
)


def table1_former() -> Iterator[str]:
    name = "table1-laptop-former"
    yield f"the table's eight (the smallest is {smallest_claim_p(name):.3f})"
    yield f"all are undecided (smallest p {smallest_p(name):.3f})"


def former() -> Iterator[str]:
    rows = {
        row["arm"]: row for row in csv_rows("table2-laptop-former", "report.csv") if row["metric"] == HELD_OUT_LOSS
    }
    without, spread, beside, own = (
        float(rows[arm][column]) for arm in ("baseline", "span_dynamic") for column in ("mean", "sd")
    )
    yield f"({without:.3f} ± {spread:.3f} nats, against {beside:.3f} ± {own:.3f} with the span-based one)"


STORIES = {
    "Table 2 at scale `laptop`:": table2_laptop,
    "Table 2 at scale `laptop`, the former": former,
    "Table 2 at scale `wikipedia`:": table2_wikipedia,
    "Table 2 at scale `wikipedia`, the former": table2_wikipedia_former,
    "Table 1 at scale `laptop`:": table1,
    "Table 1 at scale `laptop`, the former": table1_former,
    "Table 8 at": table8,
    "Heads": heads,
    "The search": search,
}


@pytest.mark.parametrize("start", STORIES)
def test_numbers_of_a_story_follow_from_its_rows(start: str) -> None:
    assert missing_from(start, STORIES[start]()) == []
