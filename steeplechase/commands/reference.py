"""`steeplechase reference` and `schema`: every key with its values and meaning, and the JSON schema of files."""

import inspect
import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from reports.formats.markdown import table_lines
from search_space.architecture_kind import ENCODER, ArchitectureByKind
from search_space.cost import CONVENTIONS
from search_space.released.models import PRESETS
from steeplechase.commands.reference_values import (
    AllowedValues,
    default_of,
    example_of,
    flow,
    keys_like_the_encoders,
    keys_of,
)
from steeplechase.commands.report import print_document
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.plugin_folders import PluginFolder
from steeplechase.configuration.yaml.json_schema import editor_schema, schema_text
from steeplechase.foundation.schema import VARIANT_KEY, options_of
from steeplechase.tasks.downstream import find_task, task_names


def files_schema_text() -> str:
    """Return the schema of experiment files as text: sorted keys, with a newline at the end."""
    return schema_text(editor_schema(Experiment))


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
        if issubclass(expected, ArchitectureByKind):
            yield from ((member, below) for member in expected.other_kinds().values())
    else:
        mapping = isinstance(origin, type) and issubclass(origin, Mapping)
        for argument in get_args(expected):
            yield from models_in(argument, f"{below}.*" if mapping else below)


WHOLE_FILE = "The experiment file"
NAMES = {"design.structure.*": "layers"}
"""By section: a name that its mapping allows, where not every name is."""
HEADINGS = ("key", "values", "default", "meaning")
INTRODUCTION = """\
# Reference of experiment files

Made from the declarations by `steeplechase reference`; a test holds this page to them. Keys are dotted paths from the
top of the file; `*` is a name of your own. A key without a default is required. An option's name alone is the option
with the defaults of its fields: `convolution: dynamic` is `convolution: { kind: dynamic }`. Every value may also be
set by `--set KEY=VALUE`, and scales override any of them. `steeplechase experiments` lists the experiments."""


def page() -> str:
    """Return the reference as Markdown: contents, a section per key, tasks, FLOP conventions and models."""
    parts = [*_parts([section for section in sections_of(Experiment) if section.model is not PluginFolder])]
    titles = [title for title, _ in parts]
    rest = [("Downstream tasks", _tasks()), ("FLOP conventions", _conventions()), ("Published models", _presets())]
    contents = "\n".join(f"- [{title}](#{_anchor(title)})" for title in (*titles, *(title for title, _ in rest)))
    bodies = [f"## {title}\n\n{body}" for title, body in (*parts, *rest)]
    return "\n\n".join([INTRODUCTION, contents, *bodies]) + "\n"


def _parts(sections: list[Section]) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each key's section, or of all options of a key."""
    for path, group in groupby(sections, key=lambda section: section.path):
        members = list(group)
        title = f"`{path}`" if path else WHOLE_FILE
        if len(members) == 1 and members[0].kind is None:
            yield title, _declaration(members[0])
        else:
            yield title, "\n\n".join(f"### {_name(each)}\n\n{_declaration(each)}" for each in members)


def _name(section: Section) -> str:
    """Return an option's kind, `encoder` for the architecture without one, or the words of another class's name."""
    kind = section.kind or (ENCODER if issubclass(section.model, ArchitectureByKind) else None)
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", section.model.__name__)
    return words.lower().capitalize() if kind is None else f"`{kind}`"


def _declaration(section: Section) -> str:
    model = section.model
    blocks = [_described(section)]
    if section.kind is not None and (example := example_of(model)) is not None:
        whole = len(example) > 1 or issubclass(model, ArchitectureByKind)
        value = flow(example) if whole else str(example[VARIANT_KEY])
        named = f"{{ {NAMES.get(section.path, 'mine')}: {value} }}" if section.path.endswith(".*") else value
        blocks.append(f"```yaml\n{section.key}: {named}\n```")
    if rows := [*_rows(model)]:
        blocks.append("\n".join(table_lines([HEADINGS, ["---"] * len(HEADINGS), *rows])))
    if issubclass(model, ArchitectureByKind) and (shared := [*keys_like_the_encoders(model)]):
        blocks.append(
            f"As of an encoder: {', '.join(f'`{key}`' for key in shared)}. Other keys of an encoder are refused."
        )
    return "\n\n".join(blocks)


def _described(section: Section) -> str:
    """Return the docstring of an option's own file, or of its class in a shared one: each names its source."""
    own = inspect.getdoc(section.model)
    module = sys.modules[section.model.__module__]
    options = [each for each in vars(module).values() if _is_option_of(each, section.model.__module__)]
    if section.kind is None:
        return _first_paragraph(own)
    return _first_paragraph(module.__doc__) if options == [section.model] else " ".join((own or "").split())


def _is_option_of(value: object, module: str) -> bool:
    is_model = isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module
    return is_model and VARIANT_KEY in value.model_fields  # type: ignore[attr-defined]


def _rows(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    allowed = AllowedValues(model)
    for key in keys_of(model):
        cells = (f"`{key}`", allowed.text(key), default_of(model, key), allowed.description(key))
        yield tuple(cell.replace("|", "\\|") for cell in cells)


def _tasks() -> str:
    rows = []
    for name in task_names():
        task = find_task(name)
        about = task.about or _first_paragraph(sys.modules[f"steeplechase.tasks.downstream.{name}"].__doc__)
        rows.append((f"`{name}`", ", ".join(task.metrics), about.replace("|", "\\|")))
    headings = ("task", "metrics, the first in the score", "what it asks, and its source")
    own = "Values of `fine_tuning.tasks`; tasks of your own are declared in `fine_tuning.own_tasks`."
    return f"{own}\n\n" + "\n".join(table_lines([headings, ["---"] * 3, *rows]))


def _conventions() -> str:
    rows = [(f"`{name}`", convention.rule) for name, convention in CONVENTIONS.items()]
    return "Values of `--flops`.\n\n" + "\n".join(table_lines([("name", "counts"), ["---"] * 2, *rows]))


def _presets() -> str:
    names = ", ".join(f"`{name}`" for name in PRESETS)
    begin = "`baseline: { like: NAME }` begins with one, and a file's own values are merged over its values"
    return f"{begin}; `steeplechase describe NAME` has their sizes with the source of each: {names}."


def _first_paragraph(docstring: str | None) -> str:
    return " ".join((docstring or "").strip().partition("\n\n")[0].split())


def _anchor(title: str) -> str:
    """Return GitHub's anchor of a heading."""
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def reference() -> None:
    """Print the reference of experiment files as Markdown; docs/reference.md is this."""
    print_document(page())


def schema() -> None:
    """Print the JSON schema of experiment files; experiments/schema.json is this."""
    print(files_schema_text(), end="")  # noqa: T201
