"""`paper:`, what a paper says on the question, to be judged by the results."""

from collections.abc import Mapping

from pydantic import Field

from foundation.schema import PositiveNumber, Schema


class PaperStatement(Schema):
    """What a paper says on the question, in our words, with its source."""

    source: str
    """The paper, with the table or section."""
    statement: str
    """What the paper says on the question, in our words."""
    orderings: tuple[str, ...] = Field(default=(), examples=[["span_dynamic > dynamic ~ bottleneck"]])
    """What the statement says of the arms: `a > b`, a is better; `a ~ b`, level within the margin. The report judges
    it on every headline metric as it judges `claims`; a name with spaces stands in quotes.
    """
    margins: Mapping[str, PositiveNumber] = Field(default_factory=dict, examples=[{"score": 1.0}])
    """By metric: the largest difference that still counts as level."""
    table: str | None = Field(default=None, examples=["table3"])
    """The table in `search_space/released/papers.toml` whose numbers stand beside ours."""
    rows: Mapping[str, str] = Field(default_factory=dict, examples=[{"baseline": "ELECTRA-Small"}])
    """By arm, the row of that table."""
