"""Extractive question answering on docstrings: which span describes a parameter? After SQuAD (arXiv 1606.05250).

A context is two or more adjacent parameter entries of one docstring, in numpy, Google or Sphinx style, with one
question, the name, for each of its parameters; an answer is the span of the parameter's description.
Shortcuts: a context has as many answers as parameters, so a model that ignores the name can only guess by position.
A name that also occurs in another description is still a question; its answer is the entry of that name. Modules with
few contexts use contexts of more than two entries again, without their first entry.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.documentation.drawing import Group, by_module, draw, in_hashed_order
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "docs_answer"
MAX_CONTEXT = 500  # characters; with the name, most contexts fit 128 tokens
MIN_PARAMETERS = 2
MAX_PARAMETERS = 6
MIN_DESCRIPTION = 12  # characters
MAX_DESCRIPTION = 250  # characters
_NUMPY_HEADING = re.compile(r"^(?:Other )?Parameters\n-{3,}[ ]*\n|^Attributes\n-{3,}[ ]*\n", re.MULTILINE)
_GOOGLE_HEADING = re.compile(r"^( *)(?:Args|Arguments|Parameters|Keyword Args|Attributes):[ ]*\n", re.MULTILINE)
_NUMPY_ENTRY = re.compile(r"^(\*{0,2}[A-Za-z_]\w*)(?: *:.*)?$")
_GOOGLE_ENTRY = re.compile(r"^( +)(\*{0,2}[`]{0,2}[A-Za-z_]\w*[`]{0,2})(?: *\([^\n]*?\))? *: *(?=\S|$)")
_SPHINX_ENTRY = re.compile(r"^ *:(?:param|parameter|arg|argument)(?: [^:\n]*?)? (\*{0,2}\w+): *", re.MULTILINE)
_NEXT_HEADING = re.compile(r"^[A-Z][A-Za-z ]+\n[-=]{3,}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, the start of its entry, and the span [start, end) of its description."""

    name: str
    entry: int
    start: int
    end: int


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of (name, context, span); raises DataError if the documents give too few."""
    groups = {}
    seen: set[str] = set()
    for module, members in by_module(documents).items():
        disjoint = _distinct((run for document in members for run in _runs(document)), seen)
        overlapping = _distinct((run[1:] for run in disjoint if len(run) > MIN_PARAMETERS), seen)
        groups[module] = [_group(run) for run in (*disjoint, *overlapping)]
    return draw(NAME, groups, train_count, dev_count)


@dataclass(frozen=True, slots=True)
class _Entry:
    document: Document
    parameter: Parameter


_Run = list[_Entry]
"""Adjacent entries of one docstring that form a context."""


def _runs(document: Document) -> Iterator[_Run]:
    """Yield runs of two to six adjacent entries that fit a context; an entry that is too long or short ends a run."""
    run: _Run = []
    for parameter in parameters(document.text):
        usable = MIN_DESCRIPTION <= parameter.end - parameter.start <= MAX_DESCRIPTION
        if run and not (usable and _fits(run, parameter)):
            if len(run) >= MIN_PARAMETERS:
                yield run
            run = []
        if usable:
            run = [*run, _Entry(document, parameter)]
    if len(run) >= MIN_PARAMETERS:
        yield run


def _fits(run: _Run, parameter: Parameter) -> bool:
    return (
        len(run) < MAX_PARAMETERS
        and parameter.end - run[0].parameter.entry <= MAX_CONTEXT
        and parameter.name not in {entry.parameter.name for entry in run}
    )


def _distinct(runs: Iterable[_Run], seen: set[str]) -> list[_Run]:
    """Return the runs whose contexts are not in `seen`, in the order of a hash, and add their contexts to `seen`."""
    by_context = {_context(run): run for run in runs}
    new = [context for context in by_context if context not in seen]
    seen.update(new)
    return [by_context[context] for context in in_hashed_order(new, str)]


def _context(run: _Run) -> str:
    return run[0].document.text[run[0].parameter.entry : run[-1].parameter.end]


def _group(run: _Run) -> Group:
    start = run[0].parameter.entry
    return tuple(
        Example(
            entry.parameter.name,
            _context(run),
            answer=(entry.parameter.start - start, entry.parameter.end - start),
            source=entry.document.source,
        )
        for entry in run
    )


def parameters(text: str) -> list[Parameter]:
    """Return the parameters described in a docstring in order of position; their spans never overlap."""
    described = [*_numpy(text), *_google(text), *_sphinx(text)]
    ordered: list[Parameter] = []
    for parameter in sorted(described, key=lambda parameter: parameter.entry):
        if parameter.end > parameter.start and (not ordered or parameter.entry >= ordered[-1].end):
            ordered.append(parameter)
    return ordered


def _numpy(text: str) -> Iterator[Parameter]:
    for heading in _NUMPY_HEADING.finditer(text):
        following = _NEXT_HEADING.search(text, heading.end())
        section_end = following.start() if following else len(text)
        lines = [line for line in _lines(text, heading.end(), section_end) if text[slice(*line)].strip()]
        heads = [index for index, line in enumerate(lines) if not text[line[0]].isspace()]
        for index, following_index in zip(heads, [*heads[1:], len(lines)], strict=False):
            entry = _NUMPY_ENTRY.match(text[slice(*lines[index])].rstrip())
            if entry is not None and following_index > index + 1:
                yield _trimmed(text, entry.group(1), lines[index][0], lines[index][1], lines[following_index - 1][1])


def _google(text: str) -> Iterator[Parameter]:
    for heading in _GOOGLE_HEADING.finditer(text):
        depth = len(heading.group(1))
        section = []
        for line in _lines(text, heading.end(), len(text)):
            content = text[slice(*line)]
            if content.strip() and len(content) - len(content.lstrip()) <= depth:
                break
            if content.strip():
                section.append(line)
        yield from _google_entries(text, section)


def _google_entries(text: str, section: list[tuple[int, int]]) -> Iterator[Parameter]:
    heads: list[tuple[int, re.Match[str]]] = []
    for index, line in enumerate(section):
        entry = _GOOGLE_ENTRY.match(text[slice(*line)])
        if entry is not None and (not heads or entry.group(1) == heads[0][1].group(1)):
            heads.append((index, entry))
    ends = [*(index for index, _ in heads[1:]), len(section)]
    for (index, entry), following in zip(heads, ends, strict=False):
        begin = section[index][0]
        name = entry.group(2).strip("`")
        yield _trimmed(text, name, begin + len(entry.group(1)), begin + entry.end(), section[following - 1][1])


def _sphinx(text: str) -> Iterator[Parameter]:
    for entry in _SPHINX_ENTRY.finditer(text):
        end = entry.end()
        for line_start, line_end in _lines(text, entry.end(), len(text)):
            content = text[line_start:line_end]
            if line_start > entry.end() and (not content.strip() or content.lstrip().startswith((":", ".. "))):
                break
            end = line_end
        yield _trimmed(text, entry.group(1), entry.start(), entry.end(), end)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each line with its newline."""
    while start < end:
        newline = text.find("\n", start, end)
        line_end = end if newline < 0 else newline + 1
        yield start, line_end
        start = line_end


def _trimmed(text: str, name: str, entry: int, start: int, end: int) -> Parameter:
    description = text[start:end]
    start += len(description) - len(description.lstrip())
    return Parameter(name.lstrip("*"), entry, start, max(start, end - (len(description) - len(description.rstrip()))))


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="span",
    labels=(),
    metrics=("f1", "exact_match"),
    chance=0.48,  # measured: F1 of a random entry of the context
    build=build,
)
