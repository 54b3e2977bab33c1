"""`steeplechase describe`: the costs of one architecture by component, without building it."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from search_space.activation_memory import RULE
from search_space.cost import MATMUL
from search_space.released.models import PRESETS
from search_space.released.publication import Publication, publication_of
from search_space.summary import Description, PartCost, receptive_field
from search_space.summary import describe as described
from steeplechase.commands.arguments import FlopsName, convention_named, with_flags_of
from steeplechase.commands.terminal.describe_target import DescribeArguments, find_target
from steeplechase.commands.terminal.description_view import show
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.schema import JsonValue


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
        print(json.dumps(document(description, publication), indent=2, ensure_ascii=False))  # noqa: T201
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
        "branches": {"attention": asdict(description.attention), "convolution": asdict(description.convolution)},
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
