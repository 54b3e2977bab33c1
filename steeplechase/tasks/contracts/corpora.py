"""Contracts of a kind of corpus: what its declaration and its documents promise. They hold for plugins too.

A corpus is read at its `examples`; a required setting without an example is told as one broken contract.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path

from steeplechase.foundation.canonical import canonical, fingerprint
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.contract import Broken, Outcome, outcomes_at_examples, outcomes_of
from steeplechase.tasks.corpora.assembly import assemble
from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.corpora.option import CorpusOption
from steeplechase.tasks.progress import silent

MOST_DOCUMENTS = 2000
"""Documents of the contracts that compare two readings."""


def corpus_contracts(kind: type[CorpusOption]) -> Iterator[Outcome]:
    """Return the outcome of every contract at every example of a kind."""
    return outcomes_at_examples(kind, partial(outcomes_of, CONTRACTS))


def identity_is_repeated(corpus: CorpusOption) -> None:
    """Compare the identities of two equal declarations; a path in one is refused."""
    again = type(corpus).model_validate(corpus.model_dump())
    first, second = corpus.inputs(), again.inputs()
    if fingerprint(first) != fingerprint(second):
        raise Broken("inputs() of two equal declarations differ")
    if places := [text for text in _texts(first) if Path(text).is_absolute()]:
        raise Broken(f"inputs() contains the path {places[0]!r}; use the hash of its content")


def identity_follows_settings(corpus: CorpusOption) -> None:
    """Compare the identities of examples with different documents."""
    others = [type(corpus).model_validate(dict(each)) for each in type(corpus).examples]
    for other in others:
        if other == corpus or fingerprint(other.inputs()) != fingerprint(corpus.inputs()):
            continue
        if [*islice(_documents(other), MOST_DOCUMENTS)] != [*islice(_documents(corpus), MOST_DOCUMENTS)]:
            raise Broken(f"inputs() is the same for {canonical(other)}, which has other documents")


def documents_are_repeated(corpus: CorpusOption) -> None:
    """Read the documents twice and compare them in their order."""
    readings = zip(_documents(corpus), _documents(corpus), strict=True)
    for number, (first, second) in enumerate(islice(readings, MOST_DOCUMENTS)):
        if first != second:
            again = "another text" if first.source == second.source else f"the source {second.source!r}"
            raise Broken(f"document {number} is {first.source!r}, and has {again} when read again")


def documents_have_text(corpus: CorpusOption) -> None:
    """Refuse a document without source or text, and a corpus without documents."""
    number = -1
    for number, document in enumerate(islice(_documents(corpus), MOST_DOCUMENTS)):
        if not isinstance(document, Document):
            raise Broken(f"document {number} is {type(document).__name__}; a Document is needed")
        if not document.source or not document.text.strip():
            raise Broken(f"document {number} has no {'text' if document.source else 'source'}")
    if number < 0:
        raise Broken("it has no documents")


def reading_ends_with_a_count(corpus: CorpusOption) -> None:
    """Refuse a reading that returns no number of unreadable sources."""
    reading = corpus.documents(silent)
    while True:
        try:
            next(reading)
        except StopIteration as end:
            if type(end.value) is not int or end.value < 0:
                raise Broken(
                    f"documents() returns {end.value!r}; the number of unreadable sources, 0 for none"
                ) from end
            return


def splits_are_large_enough(corpus: CorpusOption) -> None:
    """Draw train, validation and test from the sources; assembly refuses a split that is too small."""
    with tempfile.TemporaryDirectory() as folder:
        assemble(corpus, Path(folder), silent)


def _documents(corpus: CorpusOption) -> Iterator[Document]:
    yield from corpus.documents(silent)


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


CONTRACTS: Mapping[str, Callable[[CorpusOption], None]] = {
    "its identity is repeated and has no path": identity_is_repeated,
    "its identity follows its settings": identity_follows_settings,
    "documents are the same in every reading": documents_are_repeated,
    "documents have a source and a text": documents_have_text,
    "reading ends with the number of unreadable sources": reading_ends_with_a_count,
    "its three splits are large enough": splits_are_large_enough,
}
"""By what `check` prints."""
