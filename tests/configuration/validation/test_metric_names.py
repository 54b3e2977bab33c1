"""Names of metrics are refused where no arm can have a value of them, whoever writes them."""

import pytest

from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.validation.metrics import unmeasured

TUNING = FineTuning(tasks=("docs_answer", "docs_pair"), sequence_length=16)


@pytest.mark.parametrize(
    "name", ["held_out_loss", "score", "docs_pair", "docs_answer:exact_match", "docs_answer:f1 test", "other"]
)
def test_a_measured_name_is_accepted(name: str) -> None:
    assert unmeasured(name, TUNING, others=("other",)) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scor", "'scor' is not measured here. Allowed: held_out_loss, score, docs_answer, docs_pair. Did you mean"),
        ("docs_pairs:f1", "'docs_pairs:f1' is not measured here"),
        ("cola", "'cola' is not measured here"),
        ("docs_answer:f2", "'docs_answer' has no further metric 'f2'. Allowed: exact_match."),
        ("docs_answer:exact_mach", "Did you mean 'exact_match'?"),
        ("docs_answer:f1", "'docs_answer:f1' is the primary metric of the task. Write 'docs_answer'"),
        ("docs_answer:", "'docs_answer' has no further metric ''"),
        ("score:f1", "'score' has no further metric 'f1'."),
        ("held_out_loss:held_out_loss", "Write 'held_out_loss'"),
    ],
)
def test_another_name_is_refused_with_what_is_allowed(name: str, expected: str) -> None:
    assert expected in (unmeasured(name, TUNING) or "")


def test_a_task_of_another_scale_is_known_to_margins_alone() -> None:
    assert unmeasured("cola:accuracy", TUNING, any_scale=True) is None
    assert unmeasured("score", FineTuning(tasks=()), any_scale=True) is None
    assert "fine_tuning.tasks is empty" in (unmeasured("score", FineTuning(tasks=())) or "")
    wrong = unmeasured("col", TUNING, any_scale=True) or ""
    assert "'col' is not measured here" in wrong
    assert wrong.endswith("Did you mean 'cola'?")
