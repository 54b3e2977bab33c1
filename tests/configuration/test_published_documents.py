"""The documents of published ledgers are experiments: a report may read them as what they are."""

import pytest

from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical_text
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.paths import has_export
from tests.factories.paths import PUBLISHED

EXPORTED = sorted(folder.name for folder in PUBLISHED.iterdir() if has_export(folder))


def test_there_are_published_ledgers() -> None:
    assert EXPORTED


def holds(written: object, document: object) -> bool:
    """Whether all of a document stands in what is written today, which may have fields that are younger."""
    if isinstance(document, dict) and isinstance(written, dict):
        return all(name in written and holds(written[name], value) for name, value in document.items())
    return written == document


@pytest.mark.parametrize("folder", EXPORTED)
def test_a_published_document_is_read_and_written_as_it_is(folder: str) -> None:
    document = read_export(PUBLISHED / folder).fact("document")
    assert isinstance(document, dict)
    experiment = Experiment.of_record(document)
    written = experiment.model_dump(mode="json")
    assert holds(written, Experiment.without_removed(document))
    again = Experiment.model_validate_json(canonical_text(written))
    assert again == experiment
    assert again.identity() == experiment.identity()
