"""Published results and released settings, from the files of `systems/`: every value with its source.

A value that was not found is absent in the files, and a report shows `not found`.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from steeplechase.foundation.schema import Count, Schema

FOLDER = Path(__file__).with_name("systems")
"""A file per system, and `common.toml` with the sources that several of them cite."""

Fields = Mapping[str, Any]
"""Values under one `source`."""


class Updates(Schema):
    """Number of updates of a model's pretraining."""

    source: str
    sources: Mapping[str, str] = Field(default_factory=dict)
    """By field, the source of a value that is not from `source`."""
    in_all: Count
    of_warmup: Count | None = None


class Costs(Schema):
    """Trainable values of the encoder, and the FLOPs of its pretraining in ELECTRA's convention."""

    source: str
    sources: Mapping[str, str] = Field(default_factory=dict)
    """By field, the source of a value that is not from `source`."""
    parameters: Count
    train_flops: float | None = None
    pooler: bool = False
    """Whether the published count includes BERT's pooler, a map of the width to itself, which no encoder here has."""
    output_layer: bool = False
    """Whether the published count includes what pretraining adds, such as the clusters of an adaptive softmax."""
    published_parameters: Count
    """Trainable values under the convention of the publication: with a pooler or without."""
    printed_parameters: str | None = None
    """The same as a paper prints it."""

    def source_of(self, field: str) -> str:
        """Return the key of the source that a field's value is from."""
        return self.sources.get(field, self.source)


class PublishedModel(Schema):
    """A released model: its sizes, objective and recipe, each part under its source."""

    name: str
    architecture: Fields
    objective: Fields | None = None
    """None if this project has no objective like the model's."""
    recipe: Fields = Field(default_factory=dict)
    updates: Updates | None = None
    costs: Costs
    notes: tuple[str, ...] = ()
    """What of the model this project does not express."""


class PublishedVariant(Schema):
    """A model that a publication derives from a released one, trained with the same recipe."""

    name: str
    of: str
    """The released model."""
    source: str
    changes: Mapping[str, Any]
    """What it changes in the released model, as a design writes it."""
    costs: Costs | None = None
    """None if it has the parameters of the released model."""
    notes: tuple[str, ...] = ()


class PublishedRow(Schema):
    """A row of a table: its model, its costs, its scores."""

    source: str
    sources: Mapping[str, str] = Field(default_factory=dict)
    """By column or field, the source of a value that is not from `source`."""
    model: str | None = None
    """The released model or variant of one, or what the row changes something in."""
    changes: Mapping[str, Any] = Field(default_factory=dict)
    """What the row changes in the model, as a design writes it."""
    updates: Count | None = None
    """Set where they differ from those of the released model."""
    long_sequences: bool = False
    """Whether training continued at a longer length, by `fine_tuning.lengthening`; the costs exclude it."""
    parameters: Count | None = None
    train_flops: float | None = None
    printed_parameters: str | None = None
    pooler: bool = False
    """Whether the printed count includes BERT's pooler."""
    printed_train_flops: str | None = None
    direction: str | None = None
    """The paper's statement about a row whose number was not found."""
    note: str | None = None
    values: Mapping[str, float] = Field(default_factory=dict)
    """By column."""
    spreads: Mapping[str, float] = Field(default_factory=dict)
    """By column, the printed standard deviation over `seeds`."""
    seeds: Count | None = None
    """Number of runs that a value is the mean of, where printed."""

    def source_of(self, field: str) -> str:
        """Return the key of the source that a column's or a field's value is from."""
        return self.sources.get(field, self.source)


class PublishedTable(Schema):
    """A table: its columns (`task:metric`, or `score`) with what they measure, and its rows."""

    title: str
    split: str
    columns: Mapping[str, str]
    rows: Mapping[str, PublishedRow]
    by_convberts_code: bool = True
    """Whether the rows were trained and fine-tuned by ConvBERT's or ELECTRA's code, whose settings are known here."""
    assumptions: tuple[str, ...] = ()
    """Assumptions of this project about the rows that no source states."""


class Published(Schema):
    """The whole file."""

    sources: Mapping[str, str]
    shared: Mapping[str, Fields]
    """Training settings common to all models."""
    models: Mapping[str, PublishedModel]
    variants: Mapping[str, PublishedVariant]
    corpora: Mapping[str, Fields]
    departures: Mapping[str, Fields]
    """Departures of this project's training from the releases, for every experiment."""
    fine_tuning: Mapping[str, Fields]
    noise: Mapping[str, Fields]
    tables: Mapping[str, PublishedTable]

    @property
    def lengthening(self) -> dict[str, Any]:
        """The further updates at a longer length, as overrides of a recipe."""
        return {f"recipe.{name}": value for name, value in unsourced(self.fine_tuning["lengthening"]).items()}

    def costs_of_model(self, name: str) -> Costs:
        """Return the costs of a released model or of a variant, which may be those of its model."""
        variant = self.variants.get(name)
        if variant is None:
            return self.models[name].costs
        return variant.costs or self.costs_of_model(variant.of)

    def fine_tuning_settings(self, task: str, size: str) -> dict[str, Any]:
        """Return the release's fine-tuning settings of a task for a model of a size, `small` or `base`."""
        known, own = self.fine_tuning, "squad" if task.startswith("squad_") else task
        parts = (known["defaults"], known["head"], known[size], known.get(own, {}))
        return {"swap_pairs": False} | {name: value for part in parts for name, value in unsourced(part).items()}

    @property
    def departure_texts(self) -> tuple[str, ...]:
        """The departures that apply to every experiment, one line each."""
        return tuple(str(text) for part in self.departures.values() for text in unsourced(part).values())


def unsourced(fields: Fields) -> dict[str, Any]:
    """Return the values without their sources."""
    return {name: value for name, value in fields.items() if name not in ("source", "sources")}


def merged(files: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Return the entries of all files by section. Raises ValueError where two files have an entry of one name."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        for section, entries in tomllib.loads(file.read_text(encoding="utf-8")).items():
            known = found.setdefault(section, {})
            if twice := sorted(known.keys() & entries.keys()):
                raise ValueError(f"{file.name}: [{section}.{twice[0]}] is in another file too")
            known |= entries
    return found


@cache
def document() -> dict[str, dict[str, Any]]:
    """Return the content of all files."""
    return merged(sorted(FOLDER.glob("*.toml")))


@cache
def published() -> Published:
    """Return the content of all files, checked."""
    return Published.model_validate_json(json.dumps(document()))
