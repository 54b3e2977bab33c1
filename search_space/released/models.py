"""Published models by name: architecture, objective and recipe as released, and the updates they were trained for.

The values are those of `papers.toml`, each under its source there. No encoder has a pooler here: BERT-base counts
108,891,648, and 590,592 more with the map and tanh on its first token.
"""

import json
from dataclasses import dataclass
from types import MappingProxyType

from search_space.candidate import Candidate
from search_space.overrides import apply
from search_space.released.papers import PublishedModel, PublishedRow, published, unsourced


@dataclass(frozen=True)
class Preset:
    """A published model: what it is, how long it was trained, and where that is written."""

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
    """Return what a row of a published table was trained as, None where the row is of no model that is known here."""
    if row.model is None:
        return None
    released = PRESETS[row.model]
    lengthening = published().lengthening if row.long_sequences else {}
    candidate = apply(released.candidate, {**row.changes, **lengthening})
    return Preset(candidate, row.updates or released.updates, published().sources[row.source])


def costs_of(row: PublishedRow) -> tuple[int | None, float | None]:
    """Return a row's parameters and train FLOPs by ELECTRA's count: its own, else those of the model that it is."""
    if row.model is None or any(not path.startswith("recipe.") for path in row.changes):
        return row.parameters, row.train_flops
    model = published().models[row.model]
    longer = (row.updates or model.updates.in_all) / model.updates.in_all
    return row.parameters or model.costs.parameters, row.train_flops or model.costs.train_flops * longer
