"""What papers print and releases contain, read from `papers.toml`: every value under its source.

What was not found is absent there, and absent is what it stays: a report shows `not found` and never a guess.
"""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from foundation.schema import Count, Schema

FILE = Path(__file__).with_name("papers.toml")

Fields = Mapping[str, Any]
"""Values under one `source`."""


class Updates(Schema):
    """For how long a model was trained."""

    source: str
    in_all: Count
    of_warmup: Count


class Costs(Schema):
    """Trainable values of the encoder, and the FLOPs of its pretraining in ELECTRA's convention."""

    source: str
    sources: Mapping[str, str] = Field(default_factory=dict)
    """By field, the source of a value that is not from `source`."""
    parameters: Count
    train_flops: float


class PublishedModel(Schema):
    """A released model: its sizes, objective and recipe, each part under its source."""

    name: str
    architecture: Fields
    objective: Fields
    recipe: Fields
    updates: Updates
    costs: Costs


class PublishedRow(Schema):
    """A row of a table: whose it is, what it cost, what it scored."""

    source: str
    sources: Mapping[str, str] = Field(default_factory=dict)
    """By column or field, the source of a value that is not from `source`."""
    model: str | None = None
    """The released model that it is, or is a variant of."""
    changes: Mapping[str, Any] = Field(default_factory=dict)
    """What the variant changes in the released model, as a design writes it."""
    updates: Count | None = None
    """Where they are not the released model's own."""
    long_sequences: bool = False
    """Whether it was trained on at a longer length, by `fine_tuning.lengthening`; what it costs leaves that out."""
    parameters: Count | None = None
    train_flops: float | None = None
    printed_parameters: str | None = None
    printed_train_flops: str | None = None
    direction: str | None = None
    """What the text says of a row whose number was not found."""
    note: str | None = None
    values: Mapping[str, float] = Field(default_factory=dict)
    """By column."""
    spreads: Mapping[str, float] = Field(default_factory=dict)
    """By column, the printed standard deviation over `seeds`."""
    seeds: Count | None = None
    """How many runs a value is the mean of, where that is printed."""

    def source_of(self, field: str) -> str:
        """Return the key of the source that a column's or a field's value is from."""
        return self.sources.get(field, self.source)


class PublishedTable(Schema):
    """A table: its columns (`task:metric`, or `score`) with what they measure, and its rows."""

    title: str
    split: str
    columns: Mapping[str, str]
    rows: Mapping[str, PublishedRow]
    assumptions: tuple[str, ...] = ()
    """What this project assumes of the rows because no source says it."""


class OptionDeparture(Schema):
    """How an option of the search space differs from the paper's mode of the same name."""

    source: str
    axis: str
    kind: str
    what: str
    brief: str
    """The same in a few words, for a cell of a table."""


class Published(Schema):
    """The whole file."""

    sources: Mapping[str, str]
    shared: Mapping[str, Fields]
    """What all models' training has in common."""
    models: Mapping[str, PublishedModel]
    corpora: Mapping[str, Fields]
    departures: Mapping[str, Fields]
    """Where training here is another than theirs, whatever an experiment declares."""
    option_departures: Mapping[str, OptionDeparture]
    fine_tuning: Mapping[str, Fields]
    noise: Mapping[str, Fields]
    tables: Mapping[str, PublishedTable]

    @property
    def lengthening(self) -> dict[str, Any]:
        """The further updates of a row that was lengthened, as changes of a recipe."""
        return {f"recipe.{name}": value for name, value in unsourced(self.fine_tuning["lengthening"]).items()}

    def taught(self, task: str, size: str) -> dict[str, Any]:
        """Return how the release's code teaches a task to a model of a size, `small` or `base`."""
        known, own = self.fine_tuning, "squad" if task.startswith("squad_") else task
        parts = (known["defaults"], known["head"], known[size], known.get(own, {}))
        return {"swap_pairs": False} | {name: value for part in parts for name, value in unsourced(part).items()}

    @property
    def departures_told(self) -> tuple[str, ...]:
        """What no declaration changes, a line each."""
        return tuple(str(text) for part in self.departures.values() for text in unsourced(part).values())


def unsourced(fields: Fields) -> dict[str, Any]:
    """Return the values without the source they stand under."""
    return {name: value for name, value in fields.items() if name != "source"}


@cache
def published() -> Published:
    """Return everything that is known of the papers and releases."""
    return Published.model_validate_json(json.dumps(tomllib.loads(FILE.read_text(encoding="utf-8"))))
