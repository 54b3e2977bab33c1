"""The story of the pilot of replaced token detection has the losses of its curves."""

from itertools import groupby

from tests.reports.story_values import csv_rows
from tests.reports.test_stories import stories

NAME = "table3_pilot-wikipedia"
LEARNED = 0.35


def test_the_story_has_the_losses_and_the_beginnings_of_the_curves() -> None:
    (text,) = (text for heading, text in stories().items() if "pilot of one seed" in heading)
    story = " ".join(text.split())
    rows = [row for row in csv_rows(NAME, "figures", "curves.csv") if row["forecast"] == "False"]
    begins = {}
    for arm, points in groupby(rows, key=lambda row: row["arm"]):
        curve = [(int(point["tokens"]), float(point["loss"])) for point in points]
        losses = [loss for _, loss in curve]
        assert len(curve) == 30
        shown = f"| {curve[-1][0] / 1e6:.0f}M | {min(losses):.3f} to {max(losses):.3f} | {losses[-1]:.3f} |"
        assert shown in story.partition(f"`{arm}`")[2], arm
        begins[arm] = next((tokens for tokens, loss in curve if loss < LEARNED), None)
    assert begins["baseline"] is begins["electra_small_4m"] is None
    early, late = begins["convbert_small"], begins["convbert_small_4m"]
    assert early is not None
    assert late is not None
    assert f"below 0.35 by {early / 1e6:.1f}M tokens" in story
    assert f"by {late / 1e6:.1f}M where it falls to 0 at 64M" in story
    assert round(1 - late / 64e6, 1) == 0.3  # "a third of its peak"
