"""Published models by name, and variants of them: architecture, objective and recipe as released, and their updates.

The values are those of `systems/`, each under its source there. Encoders have no pooler: BERT-base counts
108,891,648 parameters; the pooler would add 590,592.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from search_space.candidate import Candidate
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.objective import Denoising
from search_space.overrides import apply
from search_space.released.papers import Costs, PublishedModel, PublishedRow, PublishedVariant, published, unsourced
from search_space.shape import linear_parameters

RECIPE = ("peak_learning_rate", "batch_sequences", "sequence_length", "weight_decay")
"""Fields of a recipe that every publication should state."""


@dataclass(frozen=True)
class Preset:
    """A published model: its candidate, its number of updates, and the source."""

    candidate: Candidate
    updates: int | None
    """None if their number, or the tokens of one, was not found."""
    source: str
    notes: tuple[str, ...] = ()
    """What of the model this project does not express, and what was not found."""
    has_objective: bool = True
    """Whether the candidate's objective is the model's."""

    @property
    def tokens(self) -> int:
        """Tokens that all its updates see; 0 if that was not found."""
        return (self.updates or 0) * self.candidate.recipe.tokens_per_step


def _preset(model: PublishedModel) -> Preset:
    everything, recipe = published(), _recipe(model)
    parts = {"architecture": unsourced(model.architecture), "recipe": recipe}
    if model.objective is not None:
        parts["objective"] = unsourced(model.objective)
    source = str((model.recipe or model.architecture)["source"])
    return Preset(
        Candidate.model_validate_json(json.dumps(parts)),
        model.updates.in_all if model.updates is not None and _batch_is_known(model) else None,
        everything.sources[source],
        (*model.notes, *_not_found(model)),
        model.objective is not None,
    )


def _variant(variant: PublishedVariant) -> Preset:
    released = PRESETS[variant.of]
    return Preset(
        apply(_with_fitting_objective(released), variant.changes),
        released.updates,
        published().sources[variant.source],
        (f"a variant of {variant.of}", *variant.notes, *released.notes),
        released.has_objective,
    )


def _recipe(model: PublishedModel) -> dict[str, Any]:
    recipe: dict[str, Any] = {}
    for part in published().shared.values():
        recipe |= unsourced(part)
    recipe |= unsourced(model.recipe)
    if _batch_is_known(model) and model.updates is not None and model.updates.of_warmup is not None:
        tokens_per_update = recipe["batch_sequences"] * recipe["sequence_length"]
        recipe["schedule"] = {"kind": "linear", "warmup_tokens": model.updates.of_warmup * tokens_per_update}
    return recipe


def _batch_is_known(model: PublishedModel) -> bool:
    return {"batch_sequences", "sequence_length"} <= model.recipe.keys()


def _not_found(model: PublishedModel) -> Iterator[str]:
    missing = [name.replace("_", " ") for name in RECIPE if name not in model.recipe]
    if model.updates is None or model.updates.of_warmup is None:
        missing.append("warm-up updates")
    if model.updates is None:
        missing.append("updates")
    if missing:
        yield f"not found in a source, so that this project's defaults hold: {', '.join(missing)}"


def parameters_as_published(preset: Preset, publication: Costs | PublishedRow) -> int:
    """Return the encoder's parameters by the closed form, under the convention of the publication."""
    architecture = preset.candidate.architecture
    pooler = linear_parameters(architecture.width, architecture.width) if publication.pooler else 0
    added = isinstance(publication, Costs) and publication.output_layer
    heads = preset.candidate.objective.head_parameters(architecture, None) if added else 0
    return architecture.parameters + pooler + heads


class _Presets(Mapping[str, Preset]):
    """The published models and their variants by name, each built when it is asked for."""

    def __getitem__(self, name: str) -> Preset:
        return _preset_named(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*published().models, *published().variants}))

    def __len__(self) -> int:
        return len(published().models) + len(published().variants)


@cache
def _preset_named(name: str) -> Preset:
    variant = published().variants.get(name)
    return _preset(published().models[name]) if variant is None else _variant(variant)


PRESETS = _Presets()


def preset_of(row: PublishedRow) -> Preset | None:
    """Return the preset of a row of a published table; None if its model is unknown."""
    if row.model is None:
        return None
    released = PRESETS[row.model]
    lengthening = published().lengthening if row.long_sequences else {}
    candidate = apply(_with_fitting_objective(released), {**row.changes, **lengthening})
    updates, source = row.updates or released.updates, published().sources[row.source]
    return Preset(candidate, updates, source, released.notes, released.has_objective)


def _with_fitting_objective(released: Preset) -> Candidate:
    """Return a preset's candidate; one that writes a target and was not pretrained has an objective that can be."""
    candidate = released.candidate
    if released.has_objective or not isinstance(candidate.architecture, EncoderDecoderArchitecture):
        return candidate
    return candidate.model_copy(update={"objective": Denoising()})


def costs_of(row: PublishedRow) -> tuple[int | None, float | None]:
    """Return a row's parameters and train FLOPs in ELECTRA's convention: as printed, else those of its model."""
    model = None if row.model is None else published().models.get(row.model)
    if model is None or any(not path.startswith("recipe.") for path in row.changes):
        return row.parameters, row.train_flops
    flops = row.train_flops
    if flops is None and model.costs.train_flops is not None and model.updates is not None:
        flops = model.costs.train_flops * ((row.updates or model.updates.in_all) / model.updates.in_all)
    return row.parameters or model.costs.parameters, flops
