"""`steeplechase describe`: the costs of one architecture by component, without building it."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from runners.flags import FactoryPackages, Scale
from search_space.activation_memory import RULE
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.cost import MATMUL
from search_space.module_factories import allow_packages
from search_space.recipe import Recipe
from search_space.released.differences import Publication, publication_of
from search_space.released.models import PRESETS
from search_space.summary import Description, PartCost, Subject, receptive_field
from search_space.summary import describe as described
from steeplechase.commands.arguments import FlopsName, choose, convention_named, with_flags_of
from steeplechase.commands.output import print_json
from steeplechase.commands.terminal.description_view import show
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml import load, read_file
from steeplechase.foundation.errors import ConfigurationError, not_one_of
from steeplechase.foundation.schema import JsonValue, Schema

DOCUMENTS: tuple[type[Schema], ...] = (Architecture, Candidate, Experiment)


@dataclass(frozen=True, kw_only=True)
class DescribeArguments:
    """Which candidate of a file is described, and at which sizes."""

    scale: Scale = None
    arm: Annotated[str | None, typer.Option(help="An arm of an experiment; its baseline by default.")] = None
    length: Annotated[int | None, typer.Option(min=1, help="Tokens of a sequence; the recipe's by default.")] = None
    batch: Annotated[int | None, typer.Option(min=1, help="Sequences of a batch; the recipe's by default.")] = None
    factories_of: FactoryPackages = ()


def find_target(what: str, arguments: DescribeArguments) -> tuple[Subject, Recipe]:
    """Return the subject and its training. Raises ConfigurationError with every error."""
    path = Path(what)
    allow_packages(arguments.factories_of)
    if what in PRESETS:
        _refuse_options(arguments, "a published model", ("scale", "arm"))
        preset = PRESETS[what]
        subject, recipe = _target_of(what, preset.candidate, None)
        return (subject if preset.has_objective else replace(subject, objective=None)), recipe
    if not path.exists() and not path.suffix:
        raise ConfigurationError(f"{not_one_of(what, 'a published model', PRESETS)}; and no such file")
    model = _model_of(path)
    if model is Experiment:
        return _of_experiment(arguments, path)
    _refuse_options(arguments, f"a file with no experiment ({path})", ("arm",))
    if model is Candidate:
        return _target_of(path.stem, load(path, Candidate, arguments.scale), None)
    architecture, recipe = load(path, Architecture, arguments.scale), Recipe()
    return Subject(path.stem, architecture, None, architecture, recipe.dropout), recipe


def _model_of(path: Path) -> type[Schema]:
    """Return the declaration with the most fields among the file's keys; an architecture if there is none."""
    keys = read_file(path).keys
    return max(DOCUMENTS, key=lambda model: len(keys & set(model.model_fields)))


def _of_experiment(arguments: DescribeArguments, path: Path) -> tuple[Subject, Recipe]:
    chosen = choose(path, arguments.scale, packages=arguments.factories_of)
    arms = {arm.name: arm for arm in chosen.experiment.arms}
    name = BASELINE if arguments.arm is None else arguments.arm
    if name not in arms:
        raise ConfigurationError(f"--arm: {not_one_of(name, f'an arm of {path}', arms)}")
    title = f"{chosen.experiment.experiment} at scale {chosen.scale}: {name}"
    return _target_of(title, arms[name].candidate, chosen.experiment.baseline.architecture)


def _target_of(name: str, candidate: Candidate, baseline: Architecture | None) -> tuple[Subject, Recipe]:
    architecture, recipe = candidate.architecture, candidate.recipe
    subject = Subject(name, architecture, candidate.objective, baseline or architecture, recipe.dropout)
    return subject, recipe


def _refuse_options(arguments: DescribeArguments, what: str, names: tuple[str, ...]) -> None:
    given = [f"--{name}" for name in names if getattr(arguments, name) is not None]
    if given:
        raise ConfigurationError(f"{', '.join(given)}: {what} has none; allowed with an experiment file")


@with_flags_of(DescribeArguments)
def describe(
    what: Annotated[
        str,
        typer.Argument(
            metavar="ARCHITECTURE",
            help="A YAML file with an architecture, a candidate or an experiment, or one of " + ", ".join(PRESETS),
        ),
    ],
    settings: DescribeArguments,
    flops: FlopsName = MATMUL.name,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Show an architecture's parameters, FLOPs, memory and receptive field, by component."""
    convention = convention_named(flops)
    subject, recipe = find_target(what, settings)
    longest = subject.architecture.longest_sequence or recipe.sequence_length
    tokens = settings.length or min(recipe.sequence_length, longest)
    if message := subject.architecture.too_long(tokens):
        raise ConfigurationError(f"--length: {message}")
    description = described(subject, tokens, settings.batch or recipe.batch_sequences, convention)
    publication = publication_of(what)
    if as_json:
        print_json(document(description, publication))
    else:
        show(description, publication)


def document(description: Description, publication: Publication | None) -> dict[str, JsonValue]:
    """Return the description as plain JSON; parts add up to the encoder, sizes of memory are in MB of 10^6 bytes.

    Of a published model, its total training FLOPs and its count under the publication's convention are included.
    """
    subject = description.subject
    memory: dict[str, JsonValue] = {
        name: {"per_block": size.block / 1e6, "total": size.total / 1e6} for name, size in description.memory.items()
    }
    return {
        "name": subject.name,
        "length": description.length,
        "batch": description.batch,
        "flops_convention": description.convention.name,
        "parameters": description.parameters,
        "parameters_as_published": None if publication is None else _as_published(publication),
        "notes": [] if publication is None else list(publication.notes),
        "forward_flops": description.forward_flops,
        "update_flops": description.update_flops,
        "train_flops": None if publication is None else description.train_flops(publication.updates),
        "parts": [_part(part) for part in description.parts],
        "block": [_of_one_block(part) for part in description.parts if part.role.in_block],
        "head_parameters": description.head_parameters,
        "heads": [_part(part) for part in description.heads],
        "activation_memory": {"unit": "MB", "rule": RULE, **memory},
        "receptive_field": receptive_field(subject.architecture),
        "branches": {name: asdict(share) for name, share in description.branches.items()},
    }


def _as_published(publication: Publication) -> dict[str, JsonValue]:
    return {
        "parameters": publication.parameters,
        "convention": publication.convention,
        "published": publication.published,
        "source": publication.source,
        "printed_as": publication.printed_as,
        "printed_source": publication.printed_source,
    }


def _part(part: PartCost) -> dict[str, JsonValue]:
    return {"name": part.name, "parameters": part.parameters, "forward_flops": part.forward_flops}


def _of_one_block(part: PartCost) -> dict[str, JsonValue]:
    """Return the costs of one copy; its parameters may be shared with the other copies."""
    once = part.parameters // max(1, part.distinct)
    return {"name": part.name, "parameters": once, "forward_flops": part.forward_flops // part.copies}
