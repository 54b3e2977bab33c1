"""How a candidate and its budget differ from a released model, and what a publication says of that model's size.

Both from the declarations; sizes are counted by the closed form.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from search_space.architecture import Architecture
from search_space.architecture_kind import ENCODER
from search_space.candidate import Candidate
from search_space.convolution.option import ConvolutionOption
from search_space.overrides import absolute_path, difference
from search_space.recipe import Recipe
from search_space.released.models import PRESETS, Preset, parameters_as_published
from search_space.released.papers import published
from steeplechase.foundation.canonical import canonical_text
from steeplechase.foundation.schema import VARIANT_KEY, Schema

NOT_NUMBERS = (
    *("recipe.device", "recipe.activation_checkpointing", "recipe.micro_batches", "recipe.processes"),
    *("recipe.noise_seed", "recipe.deterministic", "recipe.compile"),
)
"""Fields that are not departures: they depend on the machine, or leave the expectation unchanged."""
AS_UPDATES = ("recipe.schedule", "recipe.token_share")
"""Fields compared in updates."""


@dataclass(frozen=True)
class Publication:
    """Counts of a released model under the convention of its publication."""

    updates: int | None
    """None if their number, or the tokens of one, was not found."""
    parameters: int
    """This project's count."""
    convention: str
    """Whether BERT's pooler is counted: `with pooler` or `without pooler`; or whether the output layer is."""
    published: int
    source: str
    """The source of `published`."""
    printed_as: str | None
    printed_source: str | None
    notes: tuple[str, ...]

    @property
    def counted(self) -> str:
        """The counts as one line."""
        printed = "" if self.printed_as is None else f", printed as {self.printed_as} ({self.printed_source})"
        published = f"published: {self.published:,} ({self.source}){printed}"
        return f"{self.parameters:,} parameters {self.convention}; {published}"


def publication_of(name: str) -> Publication | None:
    """Return what is published of a model; None if no released model or variant has this name."""
    if name not in PRESETS:
        return None
    preset, everything = PRESETS[name], published()
    costs = everything.costs_of_model(name)
    printed = costs.printed_parameters
    return Publication(
        preset.updates,
        parameters_as_published(preset, costs),
        "with the output layer" if costs.output_layer else "with pooler" if costs.pooler else "without pooler",
        costs.published_parameters,
        everything.sources[costs.source_of("published_parameters")],
        printed,
        None if printed is None else everything.sources[costs.source_of("printed_parameters")],
        preset.notes,
    )


@dataclass(frozen=True)
class Difference:
    """One field in which a candidate differs from the released model."""

    name: str
    here: str
    there: str

    def __str__(self) -> str:
        """`depth 2 (12)`: the candidate's value, and the released model's in brackets."""
        return f"{self.name} {self.here} ({self.there})"


def departures(candidate: Candidate, tokens: int, released: Preset) -> tuple[Difference, ...]:
    """Return every difference; `tokens` is the budget of an arm, before the candidate's `token_share`."""
    return tuple(_departures(candidate, tokens, released))


def _departures(candidate: Candidate, tokens: int, released: Preset) -> Iterator[Difference]:
    for path in difference(released.candidate, candidate):
        if path not in (*NOT_NUMBERS, *AS_UPDATES):
            name = path.removeprefix("recipe.").replace("_", " ")
            yield Difference(name, plain(candidate, path), plain(released.candidate, path))
    recipe, there = candidate.recipe, released.candidate.recipe
    if recipe.schedule.kind != there.schedule.kind:
        yield Difference("schedule", recipe.schedule.kind, there.schedule.kind)
    if warmup_updates(recipe) != warmup_updates(there):
        yield Difference("warm-up updates", f"{warmup_updates(recipe):,}", f"{warmup_updates(there):,}")
    updates = recipe.steps(tokens)
    if released.updates is not None and updates != released.updates:
        yield Difference("updates", f"{updates:,}", f"{released.updates:,}")


def warmup_updates(recipe: Recipe) -> int:
    """Return the number of warm-up updates."""
    return recipe.first_update_after(recipe.schedule.warmup_tokens)


def updates_text(count: int) -> str:
    """Return a number of updates with its noun: `1 update`, `1,000 updates`."""
    return f"{count:,} update{'' if count == 1 else 's'}"


def plain(candidate: Candidate, path: str) -> str:
    """Return a candidate's value at a path as text: an option as its kind and its non-default fields."""
    value: object = candidate
    for name in absolute_path(path):
        value = getattr(value, name)
    return _text(value)


def _text(value: object) -> str:
    if isinstance(value, tuple) and any(isinstance(each, Schema) for each in value):
        return " + ".join(map(_text, value))
    if value is None or isinstance(value, bool):
        return "none" if value is None else canonical_text(value)
    if not isinstance(value, Schema):
        return str(value)
    declared = ((name, getattr(value, name), field) for name, field in type(value).model_fields.items())
    changed = [
        f"{name} {_text(own)}"
        for name, own, field in declared
        if name != VARIANT_KEY and own != field.get_default(call_default_factory=True)
    ]
    if isinstance(value, Architecture):
        return str(getattr(value, VARIANT_KEY, ENCODER))
    if VARIANT_KEY not in type(value).model_fields:
        return ", ".join(changed)
    kind = str(getattr(value, VARIANT_KEY))
    return f"{kind} with {', '.join(changed)}" if changed else kind


def recipe_text(candidate: Candidate, tokens: int) -> str:
    """Return the training recipe as text, with every number that a release states."""
    recipe = candidate.recipe
    parts = [
        f"{updates_text(recipe.steps(tokens))} of {_batch_text(recipe)} x {recipe.sequence_length} tokens",
        f"peak learning rate {recipe.peak_learning_rate:g} after {updates_text(warmup_updates(recipe))}",
        recipe.schedule.after_warm_up,
        f"weight decay {recipe.weight_decay:g}",
        _optimiser_text(recipe),
        f"gradient norm at most {recipe.gradient_norm_limit:g}",
        f"dropout {recipe.dropout:g}",
        candidate.objective.description,
    ]
    if recipe.precision != Recipe.model_fields["precision"].default:
        parts.append(f"precision {recipe.precision}")
    if candidate.compiles:
        parts.append("compiled by torch.compile")
    if recipe.long_sequence_share:
        parts.append(f"then {_lengthening_text(recipe, tokens)}")
    return ", ".join(parts)


def _batch_text(recipe: Recipe) -> str:
    """Return the sequences of a batch, the first and the last where batches grow."""
    if len(recipe.phases) == 1:
        return str(recipe.batch_sequences)
    growing, whole = recipe.phases[0].batch_sequences, recipe.phases[-1]
    return f"{growing} to {whole.batch_sequences} (after {updates_text(whole.first_update)})"


def _optimiser_text(recipe: Recipe) -> str:
    title = recipe.optimiser.title
    if not recipe.optimiser.adaptive:
        return title
    return f"{title} {recipe.adam_beta1:g}, {recipe.adam_beta2:g}, {recipe.adam_epsilon:g}"


def _lengthening_text(recipe: Recipe, tokens: int) -> str:
    updates = updates_text(recipe.long_sequence_updates(recipe.steps(tokens)))
    sequences = f"{recipe.batch_sequences} x {recipe.long_sequence_length}"
    return f"before tasks of long texts {updates} of {sequences}, not in the FLOPs"


def options_departing(*architectures: Architecture) -> tuple[ConvolutionOption, ...]:
    """Return the architectures' options that differ from the paper's of the same name, one of each kind."""
    convolutions = (each.convolution for each in architectures)
    return tuple({each.kind: each for each in convolutions if each.departure}.values())
