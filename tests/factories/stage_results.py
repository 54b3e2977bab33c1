"""Results of stages for tests: read from the JSON that a ledger would hold, and a plausible one of every kind."""

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from steeplechase.ledger.records import Record, Status
from steeplechase.ledger.rows import read_result
from steeplechase.ledger.stage_results import StageResult
from tests.factories.keys import key_of
from tests.factories.latencies import MACHINE


def result_of(stage: str, document: Mapping[str, Any], status: Status = Status.FINISHED) -> StageResult:
    """Return the result that a ledger would hold so."""
    return read_result(stage, status, json.dumps(document))


CURVE = [[64, 7.5], [128, 7.25]]
TRAINED = {"train_curve": CURVE, "held_out_curve": CURVE}
FINE_TUNED = {"task": "docs_pair", "seed": 1, "examples": 64, "scores": {"accuracy": 62.5}}
PLAUSIBLE: Mapping[str, Mapping[str, Any]] = {
    "corpus": {
        "corpus": "documentation", "content_hash": "0123456789abcdef" * 4,
        "splits": {"train": {"documents": 8600, "characters": 8_600_000, "sources": 9},
                   "validation": {"documents": 400, "characters": 400_000, "sources": 9}},
        "exact_duplicates": 0, "near_duplicates": 0, "unreadable_files": 0,
    },
    "tokens": {
        "vocabulary": "0123456789abcdef" * 4, "vocabulary_size": 30522,
        "train": {"documents": 8600, "tokens": 10**7, "unknown": 3},
        "validation": {"documents": 400, "tokens": 10**5, "unknown": 0},
    },
    "evaluation_set": {"sequences": 64, "questions": 1234},
    "examples": {"task": "docs_pair", "chance": 50.0, "train": {"examples": 4000}, "dev": {"examples": 1000},
                 "bag_of_words": {"accuracy": 51.25}},
    "contamination": {"task": "docs_pair", "examples": 9, "told": 8, "overlapping": 0, "sentences": 0, "runs": 0,
                      "run_words": 13, "first": []},
    "pretrain": {"tokens": 128, "held_out_loss": 7.25, **TRAINED},
    "long_sequence_phase": {"tokens": 256, "held_out_loss": 7.0, **TRAINED},
    "unpruned": {"tokens": 128, "held_out_loss": 7.25, **TRAINED},
    "rare_words": {"variant": "add", "taught": 90, "held_out": 10, "explained_variance": 0.5, "cosine": 0.75,
                   "training_error": {"form": 0.125}},
    "word_embeddings": {"variant": "add", "taught": 90, "words": 10, "without_ngram": 1,
                        "training_error": {"form": 0.125}},
    "own_measurement": {"name": "rank", "values": {"effective_rank": 12.5}},
    "perplexity": {"text": "notes", "layout": "plain", "nats": 512.5, "tokens": 128, "words": 96, "characters": 480,
                   "unknown": 2, "length": 32, "new_tokens": 16},
    "fine_tune": FINE_TUNED,
    "probe": FINE_TUNED,
    "linear_probe": {"task": "ner_wnut17", "seed": 0, "examples": 64, "scores": {"entity_f1": 12.5},
                     "layers": [10.0, 12.5]},
    "minimal_pairs": {"task": "blimp", "seed": 0, "examples": 64, "scores": {"accuracy": 62.5},
                      "groups": {"binding": 75.0, "ellipsis": 50.0}},
    "untrained": {"parameters": 51_000},
    "attention": {"sequences": 2, "length": 4, "within": 1, "heads": [[0, 0, 0.5, 0.5, 0.25, 0.25]],
                  "maps": [[[100]]]},
    "latency": {"length": 8, "arms": ["attention"], "seconds": {"attention": [0.25, 0.5]},
                "machine": MACHINE.as_json},
}  # fmt: skip
"""By kind, what a stage that has finished leaves in a ledger."""


def plausible(stage: str) -> StageResult:
    """Return a result of a finished stage, with numbers of no meaning."""
    return result_of(stage, PLAUSIBLE[stage])


REAL = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(0, 2**53)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCORES = st.dictionaries(TEXT, REAL, max_size=3)
POINTS = st.lists(st.tuples(REAL, REAL).map(list), max_size=4)
CURVES = {"train_curve": POINTS, "held_out_curve": POINTS}
PART = st.fixed_dictionaries({"examples": WHOLE}, optional={"truncated_share": REAL, "answers_lost": WHOLE})
TEST_PART = {"test": PART}
CHOICE = st.fixed_dictionaries(
    {"score": REAL, "n": WHOLE, "reported": WHOLE, "chosen_on": TEXT, "searched": st.dictionaries(TEXT, REAL)}
)
DRAWN: Mapping[tuple[str, Status], st.SearchStrategy[dict[str, Any]]] = {
    ("pretrain", Status.FINISHED): st.fixed_dictionaries({"tokens": REAL, "held_out_loss": REAL}, optional=CURVES),
    ("pretrain", Status.DIVERGED): st.fixed_dictionaries({"tokens": REAL, "loss": TEXT}, optional=CURVES),
    ("pretrain", Status.FAILED): st.fixed_dictionaries(
        {"error": TEXT}, optional={"trace": TEXT, "attempts": st.integers(1, 3)}
    ),
    ("fine_tune", Status.FINISHED): st.fixed_dictionaries(
        {"task": TEXT, "seed": WHOLE, "examples": WHOLE, "scores": SCORES},
        optional={
            "official": SCORES,
            "choice": CHOICE,
            "constant": st.just(True),
            "constant test": st.just(True),
            "scores test": SCORES,
            "others": st.dictionaries(TEXT, WHOLE, max_size=2),
            "null_threshold": REAL,
        },
    ),
    ("probe", Status.DIVERGED): st.fixed_dictionaries({"task": TEXT, "seed": WHOLE, "step": WHOLE, "loss": TEXT}),
    ("examples", Status.FINISHED): st.fixed_dictionaries(
        {"task": TEXT, "chance": st.none() | REAL, "bag_of_words": st.none() | SCORES, "train": PART, "dev": PART},
        optional={"bag_of_words_examples": WHOLE, "ngram": SCORES, "round_trip": SCORES, **TEST_PART},
    ),
    ("evaluation_set", Status.FINISHED): st.fixed_dictionaries({"sequences": WHOLE, "questions": WHOLE}),
    ("attention", Status.FINISHED): st.fixed_dictionaries(
        {
            "sequences": WHOLE,
            "length": WHOLE,
            "within": WHOLE,
            "heads": st.lists(st.tuples(*[REAL] * 6).map(list), max_size=3),
            "maps": st.lists(st.lists(st.lists(REAL, max_size=2), max_size=2), max_size=2),
        }
    ),
    **{
        (kind, Status.FINISHED): st.just(dict(PLAUSIBLE[kind]))
        for kind in ("corpus", "tokens", "contamination", "latency", "linear_probe", "minimal_pairs", "untrained")
    },
}
"""By kind and end, results as JSON."""


@st.composite
def ends(draw: st.DrawFn) -> tuple[str, Status, dict[str, Any]]:
    """Draw a kind of stage, how it ended, and the JSON of what it left."""
    kind, status = draw(st.sampled_from(list(DRAWN)))
    return kind, status, draw(DRAWN[kind, status])


@st.composite
def drawn_records(draw: st.DrawFn) -> Record:
    """Draw a record of any kind."""
    kind, status, document = draw(ends())
    seconds = draw(st.floats(0, allow_nan=False, allow_infinity=False))
    trial, label, key, reused = draw(st.none() | TEXT), draw(TEXT), key_of(draw(TEXT)), draw(st.booleans())
    return Record(0, trial, kind, label, key, status, result_of(kind, document, status), seconds, reused)


SQUAD_PART: Mapping[str, Any] = {
    "examples": 400,
    "of": 400,
    "windows": 1205,
    "unanswerable": 0,
    "questions_cut": 0,
    "answers_lost": 12,
    "answers_moved_in_file": 0,
    "answers_misplaced_in_file": 0,
    "file": "dev-v1.1.json",
    "official_name": True,
    "notes": [],
}
"""One part of a SQuAD task's examples."""
