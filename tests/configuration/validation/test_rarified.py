"""Rules of rarified tasks and of embeddings of rare words: each contradiction is one line with its place."""

from pathlib import Path
from typing import Any

import pytest

from configuration.experiment import Experiment
from configuration.validation.fine_tuning import fine_tuning_violations
from runners.dag import shared_stages, trial_stages
from runners.rare_word_stages import word_embeddings_labels
from tests.factories import simulated_training as simulated

RARE: dict[str, Any] = {"kind": "rarified", "of": "docs_acceptability", "rarer_than": 30}
WORDS: dict[str, Any] = {"kind": "rare_words", "of": "rare", "embeddings": {"variant": "add"}}


def declared(folder: Path, rare: dict[str, Any], words: dict[str, Any], **fields: Any) -> Experiment:
    """Return an experiment with a rarified task and embeddings of its words."""
    file = folder / "synonyms.tsv"
    file.write_text("good\tsalutary\n")
    own = {"rare": {**RARE, "synonyms": {"path": str(file)}, **rare}, "words": {**WORDS, **words}}
    tuning = {"tasks": ["docs_pair", "rare", "words"], "own_tasks": own, "sequence_length": 16, **fields}
    baseline = {"architecture": simulated.ARCHITECTURE, "objective": {"kind": "masked_language_model"}}
    senses = fields.pop("supersenses", None)
    if senses:
        baseline["architecture"] = {**simulated.ARCHITECTURE, "supersenses": senses}
        tuning.pop("supersenses")
    return simulated.experiment(folder, fine_tuning=tuning, baseline={**baseline, "recipe": simulated.RECIPE})


@pytest.mark.parametrize(
    ("rare", "words", "fields", "place", "message"),
    [
        ({"of": "docs_answer"}, {}, {}, "rare.of", "'docs_answer' has no label of one text or of a pair"),
        ({"of": "words"}, {}, {}, "rare.of", "'words' is itself made of another task"),
        ({"fewest_occurrences": 30}, {}, {}, "rare.fewest_occurrences", "30 is not below rarer_than, 30"),
        ({}, {"of": "docs_pair"}, {}, "words.of", "'docs_pair' is not a task. Allowed: rare."),
        ({}, {"of": "words"}, {}, "words.of", "'words' is not of kind rarified"),
        ({}, {"occurrences": 20}, {}, "words.occurrences", "20 is below rarer_than of rare, 30"),
        ({}, {}, {"untrained_seeds": [1]}, "words.embeddings", "an untrained encoder has no embeddings"),
        ({}, {}, {"supersenses": 45}, "words.embeddings", "rare words have no supersenses"),
    ],
)
def test_a_contradiction_is_one_line(
    rare: dict[str, Any],
    words: dict[str, Any],
    fields: dict[str, Any],
    place: str,
    message: str,
    tmp_path: Path,
) -> None:
    found = [*fine_tuning_violations(declared(tmp_path, rare, words, **fields))]
    assert any(".".join(map(str, each.path)) == f"own_tasks.{place}" and message in each.message for each in found)


def test_embeddings_are_a_stage_before_the_fine_tunings_that_read_them(tmp_path: Path) -> None:
    experiment = declared(tmp_path, {}, {})
    assert [*fine_tuning_violations(experiment)] == []
    stages = trial_stages(experiment, shared_stages(experiment), experiment.baseline, 1)
    assert word_embeddings_labels(experiment) == ("word_embeddings words",)
    assert [*stages][-2:] == ["word_embeddings words", "words#1"]
    embeddings = stages["word_embeddings words"]
    assert stages["words#1"].inputs["word_embeddings"] is embeddings
    assert embeddings.inputs["examples"] is stages["words#1"].inputs["examples"]
    assert "word_embeddings" not in stages["rare#1"].inputs


def test_keys_have_the_content_of_the_synonyms_and_not_their_place(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    first, moved = (shared_stages(declared(folder, {}, {})) for folder in (tmp_path, tmp_path / "elsewhere"))
    assert first.examples["rare"].key == moved.examples["rare"].key
    assert len({first.examples[task].key for task in ("rare", "words")}) == 2
    other = declared(tmp_path, {}, {})
    (tmp_path / "synonyms.tsv").write_text("good\tbaleful\n")
    assert shared_stages(other).examples["rare"].key != first.examples["rare"].key
