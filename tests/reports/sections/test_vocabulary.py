"""A corpus that gives fewer pieces than asked for is named with both numbers, in the report and after the run."""

from dataclasses import replace
from typing import Any

import pytest

from configuration.experiment import Experiment
from reports.report import build
from reports.sections.vocabulary import TERM, vocabulary_notes
from tests.factories.reports import Trial, document, primary, shared, snapshot

ASKED = 300
SPLIT = {"documents": 9, "tokens": 999, "unknown": 0}
BASELINE = {"architecture": {"depth": 4, "convolution": {"kind": "none"}, "vocabulary_size": ASKED}}
GIVEN = {"kind": "vocabulary", "path": "vocab.txt"}


def notes(learned: int, **changes: Any) -> list[tuple[str, str]]:
    record = shared(
        "tokens", "tokens", {"vocabulary": "0", "vocabulary_size": learned, "train": SPLIT, "validation": SPLIT}
    )
    resolved = document(baseline=BASELINE) | changes
    view = snapshot([Trial("baseline", 1).pretrained(3.0)], {"baseline": {}}, (), resolved=resolved)
    view = replace(view, shared=(*view.shared, record))
    found = [*vocabulary_notes(Experiment.model_validate(resolved, strict=False), view.shared)]
    assert [note for note in build(view, primary=primary).footer if note[0] == TERM] == found
    return found


def test_both_numbers_are_named() -> None:
    ((_, text),) = notes(ASKED - 59)
    assert text == (
        "the corpus gives 241 pieces and architecture.vocabulary_size is 300: 59 embeddings have no piece, and count "
        "among the parameters. Write vocabulary_size: 241, or take a larger corpus"
    )


@pytest.mark.parametrize(("learned", "changes"), [(ASKED, {}), (ASKED - 1, {"tokenizer": GIVEN})])
def test_a_full_or_a_given_vocabulary_has_no_note(learned: int, changes: dict[str, Any]) -> None:
    assert notes(learned, **changes) == []
