"""What a publication says of a released model's size, beside this project's count by the closed form."""

from dataclasses import dataclass

from search_space.released.models import PRESETS, parameters_as_published
from search_space.released.papers import published


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
