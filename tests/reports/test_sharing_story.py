"""The story of sharing against width has the numbers of its report."""

from collections.abc import Iterator

from ledger.csv_export import read_export
from tests.reports.story_values import difference_in, mean_and_deviation, missing_from, table, values
from tests.reports.test_stories import PUBLISHED

NAME, STORY = "albert_sharing-laptop", "Sharing against width"


def rows() -> Iterator[str]:
    """Yield the rows of the story's table."""
    effects = {row["arm"]: row for row in table(NAME, "effects")}
    never = {row["arm"]: row["never_left"] for row in table(NAME, "aligned_gaps")}
    for arm in read_export(PUBLISHED / NAME).arms():
        found = values(NAME, arm.name)
        label = "`baseline`, nothing shared" if arm.name == "baseline" else f"`{arm.name}`"
        effect = effects.get(arm.name)
        difference = "–" if effect is None else difference_in(effect, 2, " nats" if arm.name == "attention" else "")
        size, loss = (
            f"{arm.candidate.architecture.width} | {arm.parameters / 1000:.0f}k",
            mean_and_deviation(found, 2),
        )
        yield f"| {label} | {size} | {loss} | {difference} | {never.get(arm.name, '0')} |"


def test_the_table_has_the_numbers_of_the_report() -> None:
    assert missing_from(STORY, rows()) == []


def test_the_share_of_parameters_and_the_bound_on_the_increase_follow() -> None:
    parameters = {arm.name: arm.parameters for arm in read_export(PUBLISHED / NAME).arms()}
    (effect,) = [row for row in table(NAME, "effects") if row["arm"] == "all"]
    share = parameters["all"] / parameters["baseline"]
    fragments = [f"{share:.0%} of the parameters", f"an increase above {float(effect['high']):.2f} nats"]
    assert missing_from(STORY, fragments) == []
