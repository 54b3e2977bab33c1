"""What a report needs to know of the experiment as resolved: parsed once here, typed from here on."""

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from configuration.metrics import SCORE
from configuration.seeds import Seeds
from foundation.schema import JsonValue
from search_space.candidate import Candidate


class _Reading(BaseModel):
    """A part of the resolved document; what a report does not read is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PaperBlock(_Reading):
    """What the paper states: in words with its source and, where it can be checked, as orderings of arms."""

    source: str
    statement: str
    orderings: tuple[str, ...] = ()
    """`a > b`: a is better; `a ~ b`: about equal; chains are allowed."""
    margins: Mapping[str, float] = Field(default_factory=dict)
    """By metric, how far apart two arms may be and still count as about equal."""
    table: str | None = None
    """Its table in `search_space/released/papers.toml`."""
    rows: Mapping[str, str] = Field(default_factory=dict)
    """By arm, the row of that table."""


class HurdleBlock(_Reading):
    """Where trials are judged, in tokens."""

    kind: str = "finite"
    rungs: tuple[int, ...] = ()
    probe: Mapping[str, JsonValue] | None = None


class PretrainingBlock(_Reading):
    """What every trial may spend."""

    tokens: int | None = None
    seeds: Seeds = ()
    init_checkpoint: str | None = None
    """The folder whose weights every encoder begins with."""
    hurdle: HurdleBlock = HurdleBlock()


class FineTuningBlock(_Reading):
    """Which tasks a pretrained model is asked."""

    tasks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (1,)


class MatchBlock(_Reading):
    """What every arm's budget-matched copy spends as much of as the baseline, and what gives way for it."""

    budget: str
    by: str
    tolerance: float = 0.01


class ForecastBlock(_Reading):
    """The budget that curves are drawn on to."""

    tokens: int


class KindBlock(_Reading):
    """A part of which only the kind matters here."""

    kind: str = "unknown"


def _one_kind(design: object) -> object:
    if not isinstance(design, list):
        return design
    kinds = [each.get("kind") for each in design if isinstance(each, dict)]
    return {"kind": "search" if "search" in kinds else "several"}


class Setting(_Reading):
    """The experiment seen by its report."""

    question: str = ""
    paper: PaperBlock | None = None
    equivalence_margin: Mapping[str, float] = Field(default_factory=dict)
    claims: tuple[str, ...] = ()
    forecast: ForecastBlock | None = None
    match: MatchBlock | None = None
    baseline: Candidate = Field(default_factory=Candidate)
    design: Annotated[KindBlock, BeforeValidator(_one_kind)] = KindBlock()
    """Of several designs: `search` where one of them is a search, else `several`."""
    corpus: KindBlock = KindBlock(kind="documentation")
    pretraining: PretrainingBlock = PretrainingBlock()
    fine_tuning: FineTuningBlock = FineTuningBlock()

    @property
    def margins(self) -> Mapping[str, float]:
        """By metric, the largest difference that counts as none: the experiment's own word before the paper's."""
        seeds, paper = self.pretraining.seeds, self.paper
        sequential = {} if isinstance(seeds, tuple) else seeds.until_decided.margin
        margins = {**(paper.margins if paper else {}), **sequential, **self.equivalence_margin}
        if len(self.tasks) == 1 and SCORE in margins:  # the only task is the score
            margins.setdefault(self.tasks[0], margins[SCORE])
        return margins

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks by name: the order of the file they were listed in never shows."""
        return tuple(sorted(self.fine_tuning.tasks))


def setting_of(document: Mapping[str, JsonValue]) -> Setting:
    """Return the parts of the resolved document that a report reads."""
    return Setting.model_validate_json(json.dumps(document))
