"""The embeddings of an encoder as components: tables, their layer norm, and the projection to the width."""

from dataclasses import dataclass

from search_space.cost import Component, Operations, Role, linear
from search_space.norm import norm_parameters, saved_by_norm
from search_space.normalisation import Normalisation
from search_space.position import Position
from search_space.shape import AttentionShape, linear_parameters
from search_space.visibility import Visibility


@dataclass(frozen=True)
class EmbeddingSizes:
    """The sizes of an architecture that decide the costs of its embeddings; fields are named as there."""

    embedding_width: int
    width: int
    vocabulary_size: int
    position: Position
    positions: int
    segments: int
    supersenses: int
    normalisation: Normalisation
    visibility: Visibility


def embedding_components(sizes: EmbeddingSizes, shape: AttentionShape, length: int) -> tuple[Component, Component]:
    """Return the embeddings and their projection to the width, which is empty if the widths are equal.

    Supersenses are a matrix product with the 0/1 vector of a token's senses, not a lookup.
    """
    width, norm = sizes.embedding_width, sizes.normalisation.embedding
    position_rows = sizes.position.rows(sizes.positions)
    looked_up = sizes.vocabulary_size + min(length, position_rows) + sizes.segments  # of a dense one-hot product
    rows = sizes.vocabulary_size + position_rows + sizes.segments + sizes.supersenses
    adds_positions = sizes.position.kind != "none" and not sizes.position.in_attention
    sums = adds_positions + (sizes.segments > 0) + (sizes.supersenses > 0)
    embedding = Operations(
        multiply_adds=sizes.supersenses * width,
        lookups=width * looked_up,
        additions=sums * width,
        normalised=norm * width,
        dropped=width,
    )
    tables = rows * width + norm * norm_parameters(sizes.normalisation.norm, width)
    tables += sizes.width if sizes.visibility == "permutation" else 0  # the start of the query stream
    saved = norm * saved_by_norm(sizes.normalisation.norm, width)
    embeddings = Component(Role.EMBEDDINGS, shape, tables, embedding, saved)
    if width == sizes.width:
        return embeddings, Component(Role.PROJECTION, shape, 0, Operations())
    projection = linear_parameters(width, sizes.width)
    return embeddings, Component(Role.PROJECTION, shape, projection, linear(width, sizes.width), width)
