"""The story of the length of the memory has the perplexities of its report."""

import csv

from tests.reports.test_stories import PUBLISHED, stories

FOLDER = PUBLISHED / "transformer_xl_memory-laptop"


def test_the_story_has_the_perplexities_of_the_table() -> None:
    (text,) = (text for heading, text in stories().items() if "length of the memory" in heading)
    story = " ".join(text.split())
    with (FOLDER / "tables" / "perplexity.csv").open(encoding="utf-8", newline="") as file:
        found = {(r["arm"], r["text"]): r for r in csv.DictReader(file) if r["measure"] == "perplexity_per_token"}

    def shown(arm: str, memory: int) -> str:
        row = found[arm, f"memory_{memory}"]
        return f"{float(row['mean']):.1f} ± {float(row['sd']):.1f}"

    none, same, longer = (shown("baseline", memory) for memory in (0, 32, 128))
    assert f"the perplexity is {none} when it is read without a memory, {same} with 32 and {longer} with 128" in story
    same, longer, longest = (shown("quarter", memory) for memory in (8, 32, 128))
    assert f"trained with 8 it is {same} with 8, {longer} with 32 and {longest} with 128" in story
    assert f"trained without one it is {shown('none', 0)}" in story
