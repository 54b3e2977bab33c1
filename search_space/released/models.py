"""Published models by name: architecture, objective and recipe as released, and the updates they were trained for.

The values are those of `papers.toml`, each under its source there. Encoders have no pooler: BERT-base counts
108,891,648 parameters; the pooler would add 590,592.
"""

import json
from dataclasses import dataclass
from types import MappingProxyType

from search_space.candidate import Candidate
from search_space.overrides import apply
from search_space.released.papers import PublishedModel, PublishedRow, published, unsourced


@dataclass(frozen=True)
class Preset:
    """A published model: its candidate, its number of updates, and the source."""

    candidate: Candidate
    updates: int
    source: str

    @property
    def tokens(self) -> int:
        """Tokens that all its updates see."""
        return self.updates * self.candidate.recipe.tokens_per_step


def _preset(model: PublishedModel) -> Preset:
    everything, recipe = published(), unsourced(model.recipe)
    for part in everything.shared.values():
        recipe |= unsourced(part)
    tokens_per_update = recipe["batch_sequences"] * recipe["sequence_length"]
    recipe["schedule"] = {"kind": "linear", "warmup_tokens": model.updates.of_warmup * tokens_per_update}
    parts = {"architecture": unsourced(model.architecture), "objective": unsourced(model.objective), "recipe": recipe}
    return Preset(
        Candidate.model_validate_json(json.dumps(parts)),
        model.updates.in_all,
        everything.sources[str(model.recipe["source"])],
    )


PRESETS = MappingProxyType({name: _preset(model) for name, model in published().models.items()})


def preset_of(row: PublishedRow) -> Preset | None:
    """Return the preset of a row of a published table; None if its model is unknown."""
    if row.model is None:
        return None
    released = PRESETS[row.model]
    lengthening = published().lengthening if row.long_sequences else {}
    candidate = apply(released.candidate, {**row.changes, **lengthening})
    return Preset(candidate, row.updates or released.updates, published().sources[row.source])


def costs_of(row: PublishedRow) -> tuple[int | None, float | None]:
    """Return a row's parameters and train FLOPs in ELECTRA's convention: as printed, else those of its model."""
    if row.model is None or any(not path.startswith("recipe.") for path in row.changes):
        return row.parameters, row.train_flops
    model = published().models[row.model]
    longer = (row.updates or model.updates.in_all) / model.updates.in_all
    return row.parameters or model.costs.parameters, row.train_flops or model.costs.train_flops * longer
