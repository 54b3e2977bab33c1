"""Given a parameter's name, where in this piece of a docstring is it described? After SQuAD (arXiv 1606.05250).

A context is two or more adjacent parameter entries of one docstring, in numpy, Google or Sphinx style, with one
question for each of its parameters. Shortcuts: a context has as many answers as parameters, so a model that ignores
the name can only guess one of them by position. Names that occur twice in a context, or inside another description,
are still questions: the answer is the entry of the name. In small corpora, contexts are also used without their first
entry.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tasks.corpora.document import Document
from tasks.documentation.drawing import Group, by_module, draw, in_hashed_order
from tasks.documentation.parameters import Parameter, parameters
from tasks.labelled.task import DownstreamTask, Example, Examples

NAME = "docs_answer"
LONGEST_CONTEXT = 500  # characters; with the name it mostly fits 128 tokens
FEWEST_PARAMETERS = 2
MOST_PARAMETERS = 6
SHORTEST_DESCRIPTION = 12  # characters
LONGEST_DESCRIPTION = 250  # characters


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of (name, context, span); raises DataError if the documents give too few."""
    groups = {}
    seen: set[str] = set()
    for module, found in by_module(documents).items():
        apart = _distinct((run for document in found for run in _runs(document)), seen)
        overlapping = _distinct((run[1:] for run in apart if len(run) > FEWEST_PARAMETERS), seen)
        groups[module] = [_group(run) for run in (*apart, *overlapping)]
    return draw(NAME, groups, train_count, dev_count)


@dataclass(frozen=True, slots=True)
class _Entry:
    document: Document
    parameter: Parameter


_Run = list[_Entry]
"""Neighbouring entries of one docstring that make one context."""


def _runs(document: Document) -> Iterator[_Run]:
    """Yield runs of two to six neighbours that fit one context; an entry that is too long or too short ends a run."""
    run: _Run = []
    for parameter in parameters(document.text):
        usable = SHORTEST_DESCRIPTION <= parameter.end - parameter.start <= LONGEST_DESCRIPTION
        if run and not (usable and _fits(run, parameter)):
            if len(run) >= FEWEST_PARAMETERS:
                yield run
            run = []
        if usable:
            run = [*run, _Entry(document, parameter)]
    if len(run) >= FEWEST_PARAMETERS:
        yield run


def _fits(run: _Run, parameter: Parameter) -> bool:
    return (
        len(run) < MOST_PARAMETERS
        and parameter.end - run[0].parameter.entry <= LONGEST_CONTEXT
        and parameter.name not in {entry.parameter.name for entry in run}
    )


def _distinct(runs: Iterable[_Run], seen: set[str]) -> list[_Run]:
    """Return the runs whose contexts were not seen before, in the order of a hash."""
    found = {_context(run): run for run in runs}
    new = [context for context in found if context not in seen]
    seen.update(new)
    return [found[context] for context in in_hashed_order(new, str)]


def _context(run: _Run) -> str:
    return run[0].document.text[run[0].parameter.entry : run[-1].parameter.end]


def _group(run: _Run) -> Group:
    begin = run[0].parameter.entry
    return tuple(
        Example(
            entry.parameter.name,
            _context(run),
            answer=(entry.parameter.start - begin, entry.parameter.end - begin),
            source=entry.document.source,
        )
        for entry in run
    )


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="span",
    labels=(),
    metrics=("f1", "exact_match"),
    chance=0.48,  # measured: F1 of a description chosen at random among the entries of the context
    build=build,
)
