"""The published null experiment: its story counts the intervals that exclude 0 among arms that are all the same."""

from configuration.metrics import HELD_OUT_LOSS, SCORE
from tests.reports.story_values import table
from tests.reports.test_stories import stories

NAME = "identical-laptop"
WORDS = {0: "none excludes", 1: "one does"}


def test_the_story_has_the_counts_of_the_table() -> None:
    (story,) = (text for heading, text in stories().items() if "identical arms" in heading)
    rows = [row for row in table(NAME, "effects") if row["low"]]
    headline = [row for row in rows if row["metric"] in (HELD_OUT_LOSS, SCORE)]
    further = [row for row in rows if row not in headline]
    excluding = [sum(float(row["low"]) > 0 or float(row["high"]) < 0 for row in some) for some in (headline, further)]
    expected = f"{0.05 * len(headline):.1f}"
    counts = f"Of the {len(headline)} intervals on held-out loss and score {WORDS[excluding[0]]} 0 ({expected}"
    rest = f"of the {len(further)} on single tasks and their further metrics {WORDS[excluding[1]]}."
    assert counts in " ".join(story.split())
    assert rest in " ".join(story.split())
    losses = sorted((float(row["delta"]) for row in rows if row["metric"] == HELD_OUT_LOSS), key=abs)
    assert [f"{loss:+.3f}" for loss in losses[:-3:-1]] == ["-0.017", "+0.012"]
    assert {row["verdict"] for row in rows} == {"undecided"}
