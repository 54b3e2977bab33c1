"""The declarations that an experiment file can hold, each once, under the first path where it stands."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from steeplechase.foundation.schema import VARIANT_KEY, options_of


@dataclass(frozen=True)
class Section:
    """A declaration: a section of the file, or one option of a key."""

    path: str
    """Dotted keys from the top of the file; `*` is a name of the user's, empty for the file itself."""
    model: type[BaseModel]
    order: tuple[int, ...] = ()
    """The positions of the path's keys among the keys beside them."""

    @property
    def key(self) -> str:
        """The last key of the path, without `*`."""
        return self.path.removesuffix(".*").rpartition(".")[2]

    @property
    def kind(self) -> str | None:
        """The option's kind; None for a section of the file."""
        field = self.model.model_fields.get(VARIANT_KEY)
        tags = get_args(field.annotation) if field is not None else ()
        return str(tags[0]) if len(tags) == 1 else None


def sections_of(model: type[BaseModel]) -> tuple[Section, ...]:
    """Return the model and every declaration inside it, each below the section that has its key."""
    return tuple(sorted(_breadth_first(model), key=lambda section: section.order))


def _breadth_first(model: type[BaseModel]) -> Iterator[Section]:
    """Yield each declaration where it is nearest to the top; the options of a key one after the other."""
    seen = {model}
    waiting = deque([Section("", model)])
    while waiting:
        section = waiting.popleft()
        yield section
        for position, (name, field) in enumerate(section.model.model_fields.items()):
            path = f"{section.path}.{name}" if section.path else name
            for inner, below in models_in(field.annotation):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append(Section(path + below, inner, (*section.order, position)))


def models_in(expected: Any, below: str = "") -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the declarations that a type allows, each with `.*` for every mapping of names around it."""
    origin = get_origin(expected)
    if origin is Annotated:
        yield from models_in(get_args(expected)[0], below)
    elif isinstance(expected, type) and issubclass(expected, BaseModel):
        yield from ((member, below) for member in options_of(expected))
    else:
        mapping = isinstance(origin, type) and issubclass(origin, Mapping)
        for argument in get_args(expected):
            yield from models_in(argument, f"{below}.*" if mapping else below)
