"""Notes on data and runs: truncated inputs, small vocabularies, constant predictions, limits."""

from dataclasses import replace
from typing import Any

import pytest

from reports.report import Report, build
from reports.sections.constant_predictions import TERM as CONSTANT
from reports.sections.failures import INCOMPLETE, limit_notes
from reports.sections.truncation import TERM, truncation_notes, truncation_table
from reports.sections.vocabulary import TERM as VOCABULARY
from reports.sections.vocabulary import vocabulary_notes
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Record, TrialStatus
from steeplechase.ledger.sessions import Session
from tests.factories.reports import Trial, document, primary, shared, snapshot
from tests.factories.stage_results import PLAUSIBLE, SQUAD_PART
from tests.factories.tracked_study import still_running, study

ANSWERS: dict[str, JsonValue] = {
    "train": {"examples": 1999, "truncated_share": 0.7159, "answers_lost": 754},
    "dev": {"examples": 1000, "truncated_share": 0.719, "answers_lost": 380},
}
PAIRS: dict[str, JsonValue] = {
    "train": {"examples": 3668, "truncated_share": 0.0, "answers_lost": 0},
    "dev": {"examples": 408, "truncated_share": 0.875, "answers_lost": 0},
}
WINDOWS: dict[str, JsonValue] = {"dev": dict(SQUAD_PART)}


def examples(task: str, parts: dict[str, JsonValue]) -> Record:
    return shared(
        "examples",
        f"examples {task}",
        {"task": task, "chance": None, "bag_of_words": None, "train": {"examples": 9}, **parts},
    )


def test_shares_and_lost_answers_are_stated_by_task_dev_first() -> None:
    ((term, text),) = truncation_notes([examples("docs_answer", ANSWERS), examples("mrpc", PAIRS)])
    assert term == TERM
    assert text == (
        "truncated to the sequence length: docs_answer 71.9% of 1000 dev inputs (380 answers cut off) and 71.6% of "
        "1999 train inputs (754 answers cut off); mrpc 87.5% of 408 dev inputs. No model can give an "
        "answer that was cut off"
    )


def test_untruncated_inputs_windows_and_older_records_have_no_note() -> None:
    whole: dict[str, JsonValue] = {"dev": {"examples": 9, "truncated_share": 0.0, "answers_lost": 0}}
    older: dict[str, JsonValue] = {"dev": {"examples": 9}}
    records = [examples("cola", whole), examples("squad_v1_1", WINDOWS), examples("rte", older)]
    assert list(truncation_notes(records)) == []


def test_the_table_has_a_row_per_task_and_split_and_keeps_what_is_unknown_empty() -> None:
    rows = truncation_table([examples("squad_v1_1", WINDOWS), examples("docs_answer", ANSWERS)]).rows
    assert [(row["task"], row["split"]) for row in rows] == [
        ("docs_answer", "train"),
        ("docs_answer", "dev"),
        ("squad_v1_1", "dev"),
    ]
    assert [row["truncated_share"] for row in rows] == [0.7159, 0.719, None]
    assert [row["answers_lost"] for row in rows] == [754, 380, 12]


ASKED = 300
SPLIT = {"documents": 9, "tokens": 999, "unknown": 0}
BASELINE = {"architecture": {"depth": 4, "convolution": {"kind": "none"}, "vocabulary_size": ASKED}}
GIVEN = {"kind": "vocabulary", "path": "vocab.txt"}


def notes(learned: int, unknown: int = 0, **changes: Any) -> list[tuple[str, str]]:
    split: JsonValue = {**SPLIT, "unknown": unknown}
    record = shared(
        "tokens", "tokens", {"vocabulary": "0", "vocabulary_size": learned, "train": SPLIT, "validation": split}
    )
    resolved = document(baseline=BASELINE) | changes
    view = snapshot([Trial("baseline", 1).pretrained(3.0)], {"baseline": {}}, (), resolved=resolved)
    view = replace(view, shared=(*view.shared, record))
    found = [*vocabulary_notes(Experiment.model_validate(resolved, strict=False), view.shared)]
    assert [note for note in build(view, primary=primary).footer if note[0] == VOCABULARY] == found
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


def test_a_text_of_many_unknown_words_is_told_with_both_shares() -> None:
    ((_, text),) = notes(ASKED, unknown=50, tokenizer=GIVEN)
    assert text == (
        "0.0% of the training tokens and 5.0% of the held-out tokens are [UNK], which is predicted as any token is "
        "and counts in the loss. A larger vocabulary_size has fewer, tokenizer: byte_bpe has none"
    )
    assert notes(ASKED, unknown=4) == []


@pytest.mark.parametrize(
    ("exact", "near", "told"),
    [(15, 15, ", 30 of 130 left out because their words, without digits, are those of others"), (5, 5, "")],
)
def test_a_corpus_of_many_repeated_documents_says_so(exact: int, near: int, told: str) -> None:
    splits = {
        name: {"documents": count, "characters": 9, "sources": 1}
        for name, count in (("train", 80), ("validation", 10), ("test", 10))
    }
    found = {**PLAUSIBLE["corpus"], "splits": splits, "exact_duplicates": exact, "near_duplicates": near}
    view = snapshot([Trial("baseline", 1).pretrained(3.0)], {"baseline": {}}, ())
    view = replace(view, shared=(shared("corpus", "corpus", found),))
    text = dict(build(view, primary=primary).footer)["Corpus"]
    assert text == f"documentation, documents: 80 train, 10 validation, 10 test{told}, sha256 0123456789ab"


TASK = "docs_pair"


def report_of_constants(constant: dict[tuple[str, int, int], tuple[str, ...]], **further: float) -> Report:
    """Return two arms at three seeds, each fine-tuned twice, with flags by (arm, seed, fine-tuning seed)."""
    trials = []
    for arm in ("baseline", "dynamic"):
        for seed in (1, 2, 3):
            trial = Trial(arm, seed).pretrained(6.0 + seed / 100)
            for tuning in (1, 2):
                flags = dict.fromkeys(constant.get((arm, seed, tuning), ()), True)
                result = {
                    "task": TASK,
                    "seed": tuning,
                    "scores": {primary(TASK): 50.0 + seed, **further},
                    "examples": 9,
                    **flags,
                }
                trial.record("fine_tune", f"{TASK}#{tuning}", result)
            trials.append(trial)
    arms = {"baseline": {}, "dynamic": {"convolution": {"kind": "dynamic"}}}
    return build(snapshot(trials, arms=arms, tasks=(TASK,), resolved=document((TASK,))), primary=primary)


def test_arm_task_and_count_are_named_where_models_collapsed() -> None:
    constant = {("dynamic", 1, 1): ("constant", "constant mismatched"), ("dynamic", 3, 2): ("constant",)}
    text = (
        "constant predictions: dynamic on docs_pair in 2 of 6 fine-tunings; dynamic on docs_pair mismatched "
        "in 1 of 6 fine-tunings"
    )
    assert dict(report_of_constants(constant).footer)[CONSTANT] == text
    correlated = report_of_constants(constant, matthews=0.0)
    assert dict(correlated.footer)[CONSTANT] == f"{text}; their correlation is set to 0"
    assert CONSTANT not in dict(report_of_constants({}).footer)


OPEN = (TrialStatus.WAITING, TrialStatus.RUNNING)
LIMITED = Session("c", "2026-01-02T03:04:05+00:00", {}, 60.0, "--stop-after 1m")


def test_a_report_of_a_limited_run_says_how_many_trials_are_open_and_what_to_do() -> None:
    snapshot = replace(still_running(study()), sessions=(LIMITED,))
    ((term, text),) = limit_notes(snapshot)
    assert term == INCOMPLETE
    assert text == (
        "--stop-after 1m ended the run, and 2 of 18 trials have not ended; "
        "the same `run` with a higher limit resumes it"
    )
    ((_, text),) = limit_notes(replace(snapshot, histories=()))
    assert text.startswith("--stop-after 1m ended the run, and no trial has begun; the same `run` ")


def test_an_interrupted_run_is_resumed_by_the_same_command() -> None:
    interrupted = replace(LIMITED, stopped_by=None, interruption="interrupted")
    ((_, text),) = limit_notes(replace(still_running(study()), sessions=(LIMITED, interrupted)))
    assert text == "the run was interrupted, and 2 of 18 trials have not ended; the same `run` resumes it"


def test_a_run_without_a_limit_or_after_its_end_has_no_note() -> None:
    assert [*limit_notes(replace(study(), sessions=(LIMITED,)))] == []
    later = replace(LIMITED, stopped_by=None)
    assert [*limit_notes(replace(still_running(study()), sessions=(LIMITED, later)))] == []
    assert [*limit_notes(still_running(study()))] == []
