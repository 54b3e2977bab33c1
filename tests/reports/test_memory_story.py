"""The story of the length of the memory has the perplexities of its report."""

from tests.reports.story_values import missing_from, table

NAME, STORY = "transformer_xl_memory-laptop", "The length of the memory"


def test_the_story_has_the_perplexities_of_the_table() -> None:
    rows = [row for row in table(NAME, "perplexity") if row["measure"] == "perplexity_per_token"]
    found = {(row["arm"], row["text"]): row for row in rows}

    def shown(arm: str, memory: int) -> str:
        row = found[arm, f"memory_{memory}"]
        return f"{float(row['mean']):.1f} ± {float(row['sd']):.1f}"

    none, same, longer = (shown("baseline", memory) for memory in (0, 32, 128))
    whole = f"the perplexity is {none} when it is read without a memory, {same} with 32 and {longer} with 128"
    same, longer, longest = (shown("quarter", memory) for memory in (8, 32, 128))
    quarter = f"trained with 8 it is {same} with 8, {longer} with 32 and {longest} with 128"
    assert missing_from(STORY, [whole, quarter, f"trained without one it is {shown('none', 0)}"]) == []
