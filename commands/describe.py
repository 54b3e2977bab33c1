"""`steeplechase describe`: the costs of one architecture by component, without building it."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from commands.arguments import FlopsName, Scale, convention_named
from commands.terminal.describe_target import DescribeArguments, find_target
from commands.terminal.description_view import show
from foundation.errors import ConfigurationError
from foundation.schema import JsonValue
from search_space.activation_memory import RULE
from search_space.cost import MATMUL
from search_space.released.models import PRESETS
from search_space.summary import Description, PartCost, receptive_field
from search_space.summary import describe as described


def describe(
    what: Annotated[
        str,
        typer.Argument(
            metavar="ARCHITECTURE",
            help="A YAML file with an architecture, a candidate or an experiment, or one of " + ", ".join(PRESETS),
        ),
    ],
    scale: Scale = None,
    arm: Annotated[str | None, typer.Option(help="An arm of an experiment; its baseline by default.")] = None,
    length: Annotated[int | None, typer.Option(min=1, help="Tokens of a sequence; the recipe's by default.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Sequences of a batch; the recipe's by default.")] = None,
    flops: FlopsName = MATMUL.name,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")] = False,
) -> None:
    """Show an architecture's parameters, FLOPs, memory and receptive field, by component."""
    convention = convention_named(flops)
    subject, recipe = find_target(DescribeArguments(what, scale, arm))
    longest = subject.architecture.longest_sequence or recipe.sequence_length
    tokens = length or min(recipe.sequence_length, longest)
    if message := subject.architecture.too_long(tokens):
        raise ConfigurationError(f"--length: {message}")
    description = described(subject, tokens, batch or recipe.batch_sequences, convention)
    updates = PRESETS[what].updates if what in PRESETS else None
    if as_json:
        print(json.dumps(document(description, updates), indent=2, ensure_ascii=False))  # noqa: T201
    else:
        show(description, updates)


def document(description: Description, updates: int | None) -> dict[str, JsonValue]:
    """Return the description as plain JSON; parts add up to the encoder, sizes of memory are in MB of 10^6 bytes.

    `updates` are those of a published model; its total training FLOPs are then included.
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
        "forward_flops": description.forward_flops,
        "update_flops": description.update_flops,
        "train_flops": description.train_flops(updates),
        "parts": [_part(part) for part in description.parts],
        "block": [_part(part, part.copies) for part in description.parts if part.role.in_block],
        "head_parameters": description.head_parameters,
        "heads": [_part(part) for part in description.heads],
        "activation_memory": {"unit": "MB", "rule": RULE, **memory},
        "receptive_field": receptive_field(subject.architecture),
        "branches": {"attention": asdict(description.attention), "convolution": asdict(description.convolution)},
    }


def _part(part: PartCost, copies: int = 1) -> dict[str, JsonValue]:
    return {
        "name": part.name,
        "parameters": part.parameters // copies,
        "forward_flops": part.forward_flops // copies,
    }
