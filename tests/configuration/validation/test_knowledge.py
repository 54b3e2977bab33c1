"""What resources, language-model losses and text generation ask of arms."""

import json
from pathlib import Path
from typing import Any

import pytest

from runners.dag import shared_stages, trial_stages
from runners.missing_data import refuse_missing, refuse_other_lexicon
from runners.stages.fine_tune import FineTuneStage
from runners.stages.word_embeddings import WordEmbeddingsStage
from search_space.output_layer import EmbeddingTable
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.configuration.validation.fine_tuning import fine_tuning_violations
from steeplechase.foundation.errors import ConfigurationError, DataError
from tests.factories import simulated_training as simulated
from tests.factories.paths import EXPERIMENTS
from tests.factories.reports import document

SENSES, ENTITIES = EXPERIMENTS / "sensebert/supersenses.yaml", EXPERIMENTS / "wklm/table6.yaml"


def without(file: Path, section: str, folder: Path) -> Path:
    """Write the experiment without the lines of a section of that name."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if f"{section}: {{" not in line]
    (folder / file.name).write_text("\n".join(lines), encoding="utf-8")
    return folder / file.name


@pytest.mark.parametrize(
    ("file", "section", "message"),
    [
        (SENSES, "lexicon", "supersenses of input, senses, no_preference need the experiment's lexicon"),
        (ENTITIES, "mentions", "entity_replacement needs the experiment's mentions"),
    ],
)
def test_an_arm_without_its_resource_is_one_line(file: Path, section: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load_experiment(without(file, section, tmp_path), "smoke")
    assert len(refusal.value.lines) == 1
    assert message in refusal.value.lines[0]


def test_a_missing_resource_is_named_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file, name in ((SENSES, "miniature_lexicon.tsv"), (ENTITIES, "miniature_gazetteer.tsv")):
        alone = tmp_path / file.name  # beside which there is no such file
        alone.write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
        with pytest.raises(DataError, match=f"{name}: no such file"):
            refuse_missing(load_experiment(alone, "smoke"))


def test_an_untrained_encoder_with_supersenses_reads_those_of_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXPERIMENTS.parent)
    experiment = load_experiment(SENSES, "smoke")
    senses = next(arm.candidate for arm in experiment.arms if arm.name == "input")
    for baseline, inputs in ((experiment.baseline, []), (senses, ["tokens"])):
        stages = shared_stages(experiment.model_copy(update={"baseline": baseline})).untrained.values()
        assert [[*stage.inputs] for stage in stages if stage.kind == "untrained"] == [inputs]


def test_a_lexicon_with_another_number_of_supersenses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXPERIMENTS.parent)
    experiment = load_experiment(SENSES, "smoke")
    refuse_other_lexicon(experiment)
    assert experiment.lexicon is not None
    (tmp_path / "small.tsv").write_text("water\tnoun.substance\n")
    lexicon = experiment.lexicon.model_copy(update={"path": str(tmp_path / "small.tsv")})
    with pytest.raises(DataError, match=r"small.tsv: 1 supersenses; the architecture has supersenses: 45"):
        refuse_other_lexicon(experiment.model_copy(update={"lexicon": lexicon}))


CAUSAL = {"visibility": "left_to_right", "embedding_width": 256}
MODEL = {"kind": "language_model", "output_layer": {"kind": "embeddings"}}
FEATURES = {"own": {"kind": "features", "of": "docs_pair", "lstm_width": 4}}
VARIANT = {"alone": {"kind": "variant", "of": "docs_pair"}}


def experiment(folder: Path, tuning: dict[str, Any], objective: dict[str, Any], **arms: Any) -> Experiment:
    settings = {"tasks": ["docs_pair"], "seeds": [1], "sequence_length": 16, **tuning}
    recipe = {"sequence_length": 16, "batch_sequences": 4}
    baseline = {"architecture": CAUSAL, "objective": objective, "recipe": recipe}
    design = {"kind": "list", "arms": arms or {"deep": {"depth": 14}}}
    return simulated.small_table(folder, baseline=baseline, design=design, fine_tuning=settings)


def lines(found: Experiment) -> list[str]:
    return [f"{'.'.join(map(str, each.path))}: {each.message}" for each in violations_of(found)]


MASKED = {"kind": "masked_language_model"}
CASES = [
    ({"language_model_weight": 0.5}, MASKED,
     "fine_tuning.language_model_weight: baseline, deep: pretrained without a language model; write 0"),
    ({"tasks": ["docs_pair", "own"], "own_tasks": FEATURES, "language_model_weight": 0.5}, MODEL,
     "fine_tuning.language_model_weight: own reads a BiLSTM, which predicts no tokens; write 0 in by_task.own"),
    ({"by_task": {"docs_pair": {"transferred_layers": 13}}}, MODEL,
     "fine_tuning.by_task.docs_pair.transferred_layers: 13 blocks of baseline has 12; allowed: 0 to 12"),
]  # fmt: skip


@pytest.mark.parametrize(("tuning", "objective", "line"), CASES)
def test_what_an_arm_lacks_is_one_line(
    tuning: dict[str, Any], objective: dict[str, Any], line: str, tmp_path: Path
) -> None:
    assert [each for each in lines(experiment(tmp_path, tuning, objective)) if each.startswith("fine_tuning")] == [
        line
    ]


def test_a_variant_has_its_own_settings_and_the_stages_know_the_output_layer(tmp_path: Path) -> None:
    tuning = {
        "tasks": ["docs_pair", "alone"],
        "own_tasks": VARIANT,
        "language_model_weight": 0.5,
        "by_task": {"alone": {"language_model_weight": 0.0, "transferred_layers": 2}},
    }
    found = experiment(tmp_path, tuning, MODEL)
    assert lines(found) == []
    stages = trial_stages(found, shared_stages(found), found.baseline, 1)
    both, alone = (stages[label].declaration for label in ("docs_pair#1", "alone#1"))
    assert isinstance(both, FineTuneStage)
    assert isinstance(alone, FineTuneStage)
    assert (both.output_layer, both.language_model_weight, both.transferred_layers) == (EmbeddingTable(), 0.5, None)
    assert (alone.output_layer, alone.language_model_weight, alone.transferred_layers) == (None, 0.0, 2)
    assert (alone.downstream.name, alone.downstream.metrics) == ("alone", both.downstream.metrics)


SIZES = {"depth": 2, "width": 32, "embedding_width": 32, "heads": 4, "vocabulary_size": 500}


def violations(architecture: dict[str, Any], objective: str, **tuning: Any) -> list[str]:
    made = document()
    made["baseline"] = {"architecture": {**SIZES, **architecture}, "objective": {"kind": objective}}
    made["baseline"]["recipe"] = {"sequence_length": 32}
    made["design"] = {"kind": "list", "arms": {"deep": {"depth": 3}}}
    made["fine_tuning"] = {"tasks": ["multi30k_de_en"], "data": "data", "sequence_length": 40, **tuning}
    experiment = Experiment.model_validate_json(json.dumps(made))
    return [each.message for each in fine_tuning_violations(experiment)]


def test_a_stack_that_masks_in_several_visibilities_can_write() -> None:
    assert violations({"positions": 80}, "mixed_visibility") == []


def test_other_stacks_cannot() -> None:
    (message,) = violations({"positions": 80}, "masked_language_model")
    needed = "needs architectures of kind encoder_decoder, or objective mixed_visibility"
    assert message == f"multi30k_de_en {needed}; these arms have neither: baseline, deep"


@pytest.mark.parametrize(("positions", "generation"), [(79, {}), (99, {"longest_output": 60})])
def test_a_source_and_its_target_share_the_positions(positions: int, generation: dict[str, int]) -> None:
    messages = violations({"positions": positions}, "mixed_visibility", generation=generation)
    assert len(messages) == 2, "one for each arm"
    assert f"{positions + 1} is longer than the {positions} positions of the architecture" in messages[0]


def test_segment_encodings_in_attention_are_refused() -> None:
    messages = violations({"position": {"kind": "relative", "segment_encodings": True}}, "mixed_visibility")
    assert "baseline cannot write targets with segment encodings in relative positions" in messages[0]


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
    assert WordEmbeddingsStage.labels(experiment) == ("word_embeddings words",)
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
