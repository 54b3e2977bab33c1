"""Pruning of a trained encoder's dimensions, and the architecture that remains. SchuBERT: Khetan and Karnin 2020.

arXiv 2005.06628: every unit of a dimension has a scale, learned with the weights frozen under an L1 penalty in
proportion to the unit's parameters; the units with the smallest scales are removed, and the rest is trained further.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from pydantic import Field

from search_space.architecture import Architecture
from search_space.layer_lists import LISTS
from search_space.module_architecture import ModuleArchitecture
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.objective.segment_pair import SegmentPair
from search_space.sublayer.attention import SelfAttention
from search_space.sublayer.feed_forward import FeedForward
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, PositiveNumber, Schema, Share

Dimension = Literal["width", "heads", "key_width", "value_width", "feed_forward_width"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)


class Pruning(Schema):
    """Removes units of the encoder's dimensions after pretraining, then trains what remains."""

    parameters_share: Share = Field(gt=0, lt=1, examples=[0.8])
    """Parameters of the pruned encoder, as a share of those before; reached from below, to less than one unit."""
    dimensions: tuple[Dimension, ...] = Field(default=DIMENSIONS, min_length=1)
    """The dimensions that lose units: the hidden size `width`, and in every layer `heads`, `key_width`,
    `value_width` and `feed_forward_width`; a width per head has the same units in all heads of a layer."""
    penalty: float = Field(default=0.01, ge=0)
    """Weight of the L1 norm of the scales in the loss, for a unit of the most expensive dimension; that of another
    dimension is smaller by the ratio of their parameters per unit. Default: this project's."""
    scale_learning_rate: PositiveNumber = 0.01
    """Learning rate of Adam for the scales; it bounds by how much a scale moves in an update. Default: this
    project's."""
    scale_share: Share = Field(default=0.001, gt=0)
    """Updates of the scales, as a share of those of pretraining. Default: SchuBERT's, 1/1000."""
    rounds: Count = 10
    """Times at which units are removed during these updates, in equal parts of parameters. Default: this
    project's."""
    recovery_share: Share = 0.05
    """Updates of the pruned encoder's weights afterwards, as a share of those of pretraining. Default: SchuBERT's."""

    def scale_updates(self, updates: int) -> int:
        """Return the updates of the scales after `updates` of pretraining."""
        return max(1, round(self.scale_share * updates))

    def recovery_updates(self, updates: int) -> int:
        """Return the updates of the pruned encoder after `updates` of pretraining."""
        return max(1, round(self.recovery_share * updates)) if self.recovery_share else 0

    def updates(self, updates: int) -> int:
        """Return all updates after `updates` of pretraining."""
        return self.scale_updates(updates) + self.recovery_updates(updates)

    def target(self, architecture: Architecture) -> int:
        """Return the most parameters that the pruned encoder may have."""
        return int(self.parameters_share * architecture.parameters)

    def violations(self, architecture: Architecture, objective: PretrainingObjective) -> Iterator[Violation]:
        """Yield why a model cannot be pruned so."""
        if not isinstance(objective, MaskedLanguageModel | SegmentPair):
            yield Violation((), f"cannot prune the heads of {objective.name}; allowed: masked language modelling")
        reasons = [*_obstacles(architecture)]
        if not reasons and "width" in self.dimensions:
            reasons += _obstacles_of_width(architecture)
        yield from (Violation((), reason) for reason in reasons)
        if reasons:
            return
        if len(set(self.dimensions)) < len(self.dimensions):
            yield Violation(("dimensions",), f"{', '.join(self.dimensions)}: a dimension is named twice")
        smallest = remaining(architecture, dict.fromkeys(groups(architecture, self.dimensions), 1)).parameters
        if smallest > self.target(architecture):
            least = smallest / architecture.parameters
            message = (
                f"{self.parameters_share:g} is out of reach: with one unit left of every {', '.join(self.dimensions)}"
            )
            yield Violation(("parameters_share",), f"{message}, {least:.4f} of the parameters remain")


@dataclass(frozen=True)
class Group:
    """The units of one dimension, of one layer or of the whole encoder."""

    dimension: Dimension
    size: int
    """Units before pruning."""
    block: int | None = None
    """None: shared by all layers."""

    def __str__(self) -> str:
        """Return the name for messages."""
        return self.dimension if self.block is None else f"{self.dimension} of layer {self.block + 1}"


def groups(architecture: Architecture, dimensions: tuple[Dimension, ...] = DIMENSIONS) -> tuple[Group, ...]:
    """Return the groups of units that the dimensions of an encoder of `(s f)*n` have."""
    found = [Group("width", architecture.width)] if "width" in dimensions else []
    for number, sizes in enumerate(sizes_by_layer(architecture)):
        found += [Group(name, size, number) for name, size in sizes.items() if name in dimensions]
    return tuple(found)


def remaining(architecture: Architecture, units: Mapping[Group, int]) -> Architecture:
    """Return the architecture with that many units of some groups; the others keep all."""
    layers = sizes_by_layer(architecture)
    width = architecture.width
    for group, count in units.items():
        if group.block is None:
            width = count
        else:
            layers[group.block][group.dimension] = count
    document = {**architecture.model_dump(), "width": width, "layers": None}
    if architecture.embedding_width == architecture.width:
        document["embedding_width"] = width
    unequal = [name for name in LISTS if len({layer[cast("Dimension", name)] for layer in layers}) > 1]
    document |= {name: max(layer[cast("Dimension", name)] for layer in layers) for name in LISTS}
    if unequal:
        document["layers"] = " ".join(_layer_text(layer, unequal) for layer in layers)
    return Architecture.model_validate(document)


def unit_costs(architecture: Architecture, of: tuple[Group, ...]) -> dict[Group, int]:
    """Return the parameters that each group loses with its first unit; 0 for a group of one unit."""
    whole = architecture.parameters
    return {
        group: whole - remaining(architecture, {group: group.size - 1}).parameters if group.size > 1 else 0
        for group in of
    }


def sizes_by_layer(architecture: Architecture) -> list[dict[Dimension, int]]:
    """Return the sizes that each layer of an encoder of `(s f)*n` has of its own."""
    found: list[dict[Dimension, int]] = []
    for attention, feed_forward in architecture.blocks:
        assert isinstance(attention, SelfAttention)
        assert isinstance(feed_forward, FeedForward)
        found.append(
            {
                "heads": attention.heads,
                "key_width": attention.key_width,
                "value_width": attention.value_width,
                "feed_forward_width": feed_forward.inner_width,
            }
        )
    return found


def _layer_text(sizes: Mapping[Dimension, int], unequal: list[str]) -> str:
    letters: dict[str, list[str]] = {"s": [], "f": []}
    for name in unequal:
        kind, setting = LISTS[name]
        letters[kind.value].append(f"{setting}={sizes[cast('Dimension', name)]}")
    return " ".join(f"{letter}({','.join(settings)})" if settings else letter for letter, settings in letters.items())


def _obstacles(architecture: Architecture) -> Iterator[str]:
    """Yield what pruning does not read of an architecture."""
    if isinstance(architecture, ModuleArchitecture):
        yield "pruning needs the project's own layers; kind module has others"
        return
    if architecture.sharing != "none":
        yield f"sharing {architecture.sharing}: shared layers have no sizes of their own; pruning needs none"
    for kind in dict.fromkeys(each.kind for each in architecture.convolutions if each.kind != "none"):
        yield f"convolution {kind}: pruning needs self-attention alone, convolution none"
    ratios = [dict(each.settings).get("bottleneck_ratio", 1) for each in architecture.program.sublayers()]
    groups = [each.groups for block in architecture.blocks for each in block if isinstance(each, FeedForward)]
    if {architecture.bottleneck_ratio, *ratios, *groups} != {1}:
        yield "a bottleneck or a grouped feed-forward network cannot be pruned; pruning needs ratio 1 and 1 group"
    if architecture.position.in_attention or not architecture.attention_biases:
        yield "pruning needs attention with biases and without relative positions"
    if not all(_is_plain(block, architecture.feed_forward_activation) for block in architecture.blocks):
        yield "pruning needs layers of plain self-attention and a plain feed-forward network, (s f)*n"


def _obstacles_of_width(architecture: Architecture) -> Iterator[str]:
    if architecture.embedding_width != architecture.width:
        widths = f"embedding_width {architecture.embedding_width} differs from width {architecture.width}"
        yield f"{widths}; pruning the width needs equal ones"
    normalisation: Any = architecture.normalisation
    if normalisation.norm != "layer_norm":
        yield f"pruning the width needs layer_norm, whose statistics it keeps, not {normalisation.norm}"
    if not normalisation.has_first_norm:
        yield "pruning the width needs a norm of the first sublayer's input; write first: true"
    if not (normalisation.embedding if normalisation.kind == "post_norm" else normalisation.has_final_norm):
        yield "pruning the width needs a layer norm before every reader of the residual stream"


def _is_plain(block: tuple[object, ...], activation: str) -> bool:
    match block:
        case (SelfAttention() as attention, FeedForward() as feed_forward):
            plain = feed_forward.up_width == feed_forward.inner_width and not feed_forward.middle_norm
            return plain and feed_forward.activation == activation and attention.is_plain
    return False
