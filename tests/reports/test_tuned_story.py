"""The story of Table 2 at the arms' own learning rates has the numbers of its report."""

from collections.abc import Iterator
from statistics import fmean

from ledger.csv_export import read_export
from ledger.records import final_loss_of
from tests.reports.story_values import difference_in, mean_and_deviation, missing_from, report, table, values
from tests.reports.test_stories import PUBLISHED

NAME, STORY = "tuned-laptop", "Table 2 with a learning rate of its own"
DECIMALS = {"held_out_loss": 3, "score": 2}


def side(row: dict[str, str], name: str) -> dict[str, str]:
    """Return the columns of a row at the shared recipes or at the arms' own."""
    return {column.removeprefix(f"{name}_"): cell for column, cell in row.items() if column.startswith(f"{name}_")}


def headlines() -> list[dict[str, str]]:
    return [row for row in table(NAME, "tuned") if row["metric"] in DECIMALS]


def compared() -> Iterator[str]:
    for arm in ("bottleneck", "dynamic", "span_dynamic"):
        cells = [
            difference_in(side(row, name), DECIMALS[row["metric"]])
            for row in headlines()
            if row["arm"] == arm
            for name in ("shared", "own")
        ]
        assert len(cells) == 4
        yield f"| {' | '.join(cells)} |"


def test_the_table_has_both_differences() -> None:
    assert missing_from(STORY, compared()) == []


def test_every_verdict_is_the_same_at_both_rates() -> None:
    assert len(headlines()) == 6
    assert all(row["shared_verdict"] == row["own_verdict"] for row in headlines())
    found = {(row["arm"], row["metric"]): float(row["own_p_adjusted"]) for row in headlines()}
    loss, score = (max(found[arm, metric] for arm in ("dynamic", "span_dynamic")) for metric in DECIMALS)
    assert missing_from(STORY, [f"at most {loss:.3f} on loss and {score:.3f} on the score"]) == []
    front_page = " ".join((PUBLISHED.parents[1] / "README.md").read_text(encoding="utf-8").split())
    assert "Table 2's verdicts at the smaller scale are those at the shared rate" in front_page


def tuning() -> Iterator[str]:
    points = {(row["arm"], row["name"]): row for row in table(NAME, "tuning")}
    own, shared = (points["baseline", name] for name in ("peak_learning_rate=0.002", "shared"))
    assert own["chosen"] == "True"
    yield f"it is 2e-3 ({float(own['value']):.3f} nats, and {float(shared['value']):.3f} at the shared 3e-3)"
    others = [points[arm, "shared"] for arm in ("bottleneck", "dynamic", "span_dynamic")]
    assert [row["chosen"] for row in others] == ["True"] * 3
    assert not any(row["edge"] for row in points.values())
    at = [float(points[arm, "peak_learning_rate=0.005"]["value"]) for arm in report_arms()]
    yield "end at {:.2f} and {:.2f} nats, the two with one at {:.2f} and {:.2f}".format(*at)
    assert all(float(points[arm, "peak_learning_rate=0.01"]["value"]) > 5 for arm in report_arms())


def report_arms() -> list[str]:
    return [arm.name for arm in report(NAME).arms]


def baseline() -> Iterator[str]:
    rows = {row["arm"]: row for row in table(NAME, "own_recipe") if row["metric"] == "held_out_loss"}
    at_own = f"{float(rows['baseline']['mean']):.3f} ± {float(rows['baseline']['sd']):.3f}"
    yield f"{mean_and_deviation(values(NAME, 'baseline'), 3)} nats at the shared rate and at {at_own} at its own"
    found = [
        final_loss_of(record)
        for record in read_export(PUBLISHED / NAME).records()
        if (record.trial or "").startswith("baseline@shared/")
    ]
    seeds = [loss for loss in found if loss is not None]
    shared = next(row for row in table(NAME, "tuning") if (row["arm"], row["name"]) == ("baseline", "shared"))
    assert abs(fmean(seeds) - float(shared["value"])) < 1e-6
    yield "those of the baseline end at {:.3f} and {:.3f} nats".format(*seeds)


def test_the_numbers_of_the_text_follow_from_the_rows() -> None:
    assert missing_from(STORY, [*tuning(), *baseline()]) == []
