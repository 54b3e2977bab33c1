"""`paper:`, a paper's statement on the question, which the report tests."""

from collections.abc import Mapping

from pydantic import Field

from steeplechase.foundation.schema import PositiveNumber, Schema


class PaperStatement(Schema):
    """A paper's statement on the question, paraphrased, with its source."""

    source: str
    """The paper, with the table or section."""
    statement: str
    """The paper's statement, paraphrased."""
    orderings: tuple[str, ...] = Field(default=(), examples=[["span_dynamic > dynamic ~ bottleneck"]])
    """Orderings of the arms in the statement: `a > b`, a is better; `a ~ b`, level within the margin. The report
    tests them like `claims`; quote a name with spaces.
    """
    metrics: tuple[str, ...] = Field(default=(), examples=[["score"]])
    """Metrics that the orderings are about: `held_out_loss`, `score` or a task; empty: every headline metric."""
    margins: Mapping[str, PositiveNumber] = Field(default_factory=dict, examples=[{"score": 1.0}])
    """By metric: the largest difference that counts as level."""
    table: str | None = Field(default=None, examples=["table3"])
    """Table in `search_space/released/systems/` whose published numbers are shown beside the measured ones."""
    rows: Mapping[str, str] = Field(default_factory=dict, examples=[{"baseline": "ELECTRA-Small"}])
    """By arm: the row of that table."""
