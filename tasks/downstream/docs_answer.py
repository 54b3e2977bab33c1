"""Given a parameter's name, where in this piece of a docstring is it described? After SQuAD (arXiv 1606.05250).

A context is two or more neighbouring parameter entries of one docstring, in numpy's, Google's or Sphinx's style,
and every one of its parameters is asked for. Shortcuts: one context has as many answers as parameters, so position
alone cannot tell them apart; a reader who ignores the name can only guess one of them. Names that stand twice in
a context, or inside another description of it, are still asked: the entry is what is looked for.
"""

from collections.abc import Iterable, Iterator, Sequence

from tasks.corpora.document import Document
from tasks.downstream.drawing import Group, by_module, draw, in_hashed_order
from tasks.downstream.parameters import Parameter, parameters
from tasks.downstream.task import DownstreamTask, Example, Examples

NAME = "docs_answer"
LONGEST_CONTEXT = 500  # characters; with the name it mostly fits 128 tokens
MOST_PARAMETERS = 6
SHORTEST_DESCRIPTION = 12  # characters
LONGEST_DESCRIPTION = 250  # characters


def build(documents: Sequence[Document], train_count: int, dev_count: int) -> Examples:
    """Return examples of (name, context, span); raises DataRefused where the documents give too few."""
    groups = {}
    seen: set[str] = set()
    for module, found in by_module(documents).items():
        distinct = [group for group in _groups(found) if not _known(group, seen)]
        groups[module] = in_hashed_order(distinct, lambda group: str(group[0].second))
    return draw(NAME, groups, train_count, dev_count)


def _known(group: Group, seen: set[str]) -> bool:
    context = str(group[0].second)
    known = context in seen
    seen.add(context)
    return known


def _groups(documents: Iterable[Document]) -> Iterator[Group]:
    for document in documents:
        for neighbours in _contexts(parameters(document.text)):
            begin, end = neighbours[0].entry, neighbours[-1].end
            context = document.text[begin:end]
            yield tuple(
                Example(
                    parameter.name,
                    context,
                    answer=(parameter.start - begin, parameter.end - begin),
                    source=document.source,
                )
                for parameter in neighbours
            )


def _contexts(found: list[Parameter]) -> Iterator[list[Parameter]]:
    """Yield runs of two to six neighbours that fit one context; one that is too long or too short ends a run."""
    run: list[Parameter] = []
    for parameter in found:
        usable = SHORTEST_DESCRIPTION <= parameter.end - parameter.start <= LONGEST_DESCRIPTION
        names = {other.name for other in run}
        fits = run and parameter.end - run[0].entry <= LONGEST_CONTEXT and len(run) < MOST_PARAMETERS
        if run and (not usable or not fits or parameter.name in names):
            if len(run) > 1:
                yield run
            run = []
        if usable:
            run.append(parameter)
    if len(run) > 1:
        yield run


TASK = DownstreamTask(
    name=NAME,
    version=1,
    form="span",
    labels=(),
    metrics=("f1", "exact_match"),
    chance=0.48,  # measured: the F1 of the description of any one entry of the context, chosen blindly
    build=build,
)
