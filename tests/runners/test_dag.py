"""Stage keys depend on everything that changes a result, texts of arms too, and on nothing else."""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runners.dag import shared_stages, trial_stages
from runners.stage_labels import fine_tune_labels, pretrain_labels
from runners.stages.context import ProgressFile, StageContext
from runners.stages.pretrain import PretrainStage
from runners.stages.tokens import TokensStage
from search_space.overrides import apply
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.arms import data_violations
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.configuration.validation.initial_checkpoints import checkpoint_violations, last_checkpoint
from steeplechase.tasks.corpora.assembly import Split, assemble, read_documents
from steeplechase.tasks.corpora.text_files import TextFilesCorpus
from steeplechase.tasks.progress import silent
from steeplechase.tasks.tokenizer import WordOption, load_tokenizer
from steeplechase.tasks.tokens import read_tokens
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import ARCHITECTURE, RECIPE


def keys(experiment: Experiment, seed: int = 1, **changes: Any) -> dict[str, str]:
    shared = shared_stages(experiment)
    stages = trial_stages(experiment, shared, apply(experiment.baseline, changes), seed)
    return {label: stage.key for label, stage in {**shared.named(), **stages}.items()}


def differing(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {label for label in one.keys() | other.keys() if one.get(label) != other.get(label)}


TRIAL = {"pretrain@2560", "docs_pair#1", "docs_pair#2", "docs_acceptability#1", "docs_acceptability#2"}


def baseline(**architecture: Any) -> dict[str, Any]:
    sizes = {**ARCHITECTURE, **architecture}
    return {"architecture": sizes, "objective": {"kind": "masked_language_model"}, "recipe": RECIPE}


def test_writing_out_defaults_changes_no_key(tmp_path: Path) -> None:
    plain = simulated.experiment(tmp_path)
    whole = Experiment.model_validate_json(plain.model_dump_json())  # every field written out
    assert keys(whole) == keys(plain)
    assert whole.identity() == plain.identity()
    kernel = {"kind": "dynamic", "kernel_size": 9}  # 9 is the default
    assert keys(plain, convolution=kernel) == keys(plain, convolution={"kind": "dynamic"})


def test_question_tracking_and_the_order_of_tasks_change_no_key(tmp_path: Path) -> None:
    plain = simulated.experiment(tmp_path)
    tuning = {"tasks": ["docs_acceptability", "docs_pair"], "seeds": [1, 2], "sequence_length": 16}
    other_fields = {"question": "Another?", "tracking": "http://127.0.0.1:5000", "fine_tuning": tuning}
    other = simulated.experiment(tmp_path, **other_fields)
    assert keys(other) == keys(plain)
    assert other.identity() == plain.identity()


def test_the_path_of_the_text_changes_no_key_but_its_content_does(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    here, there = (simulated.experiment(tmp_path / folder) for folder in ("here", "there"))
    before = keys(here)
    assert keys(there) == before
    (tmp_path / "there" / "text.txt").write_text("another text\n" * 3000)
    assert differing(keys(there), before) == set(before)


CHANGES: list[dict[str, Any]] = [
    {"convolution": {"kind": "dynamic"}},
    {"bottleneck_ratio": 2},
    {"recipe.dropout": 0.2},
    {"objective.mask_rate": 0.2},
]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: next(iter(changes)))
def test_another_candidate_is_another_trial_on_the_same_shared_stages(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    experiment = simulated.experiment(tmp_path)
    assert differing(keys(experiment), keys(experiment, **changes)) == TRIAL


def test_an_arm_with_another_held_out_loss_has_an_evaluation_set_of_its_own(tmp_path: Path) -> None:
    """The baseline's and its arms' keys are those of an experiment without such an arm."""
    arms = {"deep": {"depth": 2}, "detection": {"objective": {"kind": "replaced_token_detection"}}}
    experiments = [
        simulated.experiment(
            tmp_path,
            design={"kind": "list", "arms": {name: arms[name] for name in names}},
            pretraining={"tokens": 2560, "seeds": [1], "evaluation_sets": sets},
        )
        for names, sets in ((["deep"], "shared"), (["deep", "detection"], "by_objective"))
    ]
    alone, mixed = map(shared_stages, experiments)
    assert mixed.evaluation_set.key == alone.evaluation_set.key
    own = mixed.named()["evaluation_set replaced_token_detection"]
    assert own.declaration.model_copy(update={"reference": None}) != mixed.evaluation_set.declaration
    for arm in experiments[1].arms:
        (stage,) = (
            stage
            for label, stage in trial_stages(experiments[1], mixed, arm.candidate, 1).items()
            if label.startswith("pretrain@")
        )
        expected = own if arm.name == "detection" else alone.evaluation_set
        assert stage.inputs["evaluation_set"].key == expected.key


@pytest.mark.parametrize(
    ("space", "needed"),
    [
        ({"objective": ["masked_language_model", "replaced_token_detection"]}, False),
        ({"objective.packing": ["stream", "doc_sentences"]}, True),
        ({"objective": ["replaced_token_detection"], "objective.packing": ["stream", "doc_sentences"]}, False),
    ],
)
def test_sentence_starts_are_stored_where_a_candidate_of_a_search_may_need_them(
    space: dict[str, list[str]], needed: bool, tmp_path: Path
) -> None:
    search = {"kind": "search", "space": space, "max_candidates": 2, "cohort": 2}
    experiment = simulated.experiment(tmp_path, baseline=baseline(), design=search)
    tokens = shared_stages(experiment).tokens.declaration
    assert tokens.sentences is needed  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("schedule", "last", "here", "there", "shared"),
    [
        ({"kind": "constant"}, 2560, [], [2560], ["pretrain@2560"]),
        ({"kind": "constant"}, 2560, [1280], [1280, 2560], ["pretrain@1280", "pretrain@2560"]),
        ({"kind": "inverse_square_root"}, 2560, [], [2560], ["pretrain@2560"]),
        ({"kind": "warmup_stable_decay", "decay_share": 0.25}, 1920, [1920], [1920], ["pretrain@1920"]),
        ({"kind": "linear"}, 0, [], [], []),
        ({"kind": "cosine"}, 0, [], [], []),
    ],
)
def test_a_longer_budget_continues_a_shorter_one_at_its_checkpoints(
    schedule: dict[str, Any], last: int, here: list[int], there: list[int], shared: list[str], tmp_path: Path
) -> None:
    recipe = {"baseline": {**baseline(), "recipe": {**RECIPE, "schedule": {**schedule, "warmup_tokens": 64}}}}
    short = simulated.experiment(tmp_path, **recipe, pretraining={**budget(2560), "checkpoints": here})
    longer = simulated.experiment(tmp_path, **recipe, pretraining={**budget(5120), "checkpoints": there})
    assert last_checkpoint(short) == last
    assert not [*checkpoint_violations(short), *checkpoint_violations(longer)]
    shorter, further = pretraining(short), pretraining(longer)
    assert [label for label in shorter if shorter[label] == further.get(label)] == shared


@pytest.mark.parametrize("equal", ["updates", "tokens"])
def test_batches_that_grow_and_masks_that_become_fewer_depend_on_no_budget(equal: str, tmp_path: Path) -> None:
    """A longer budget continues before the end of both, and every stage ends with the update that has its tokens."""
    warm_up = {"initial_sequences": 1, "tokens": 2000, "equal": equal}
    recipe = {**RECIPE, "schedule": {"kind": "constant", "warmup_tokens": 64}, "batch_warm_up": warm_up}
    masks = {"kind": "masked_language_model", "mask_rate_schedule": {"initial_rate": 0.4, "tokens": 4000}}
    changed = {"baseline": {**baseline(), "recipe": recipe, "objective": masks}}
    short = simulated.experiment(tmp_path, **changed, pretraining={**budget(2560), "checkpoints": [1280]})
    longer = simulated.experiment(tmp_path, **changed, pretraining={**budget(5120), "checkpoints": [1280, 2560]})
    assert last_checkpoint(short) == 2560
    assert not [*checkpoint_violations(short), *checkpoint_violations(longer)]
    shorter, further = pretraining(short), pretraining(longer)
    assert [label for label in shorter if shorter[label] == further.get(label)] == ["pretrain@1280", "pretrain@2560"]
    stages = trial_stages(longer, shared_stages(longer), longer.baseline, 1)
    trained = longer.baseline.recipe
    for tokens, before in ((1280, 0), (2560, 1280), (5120, 2560)):
        declaration = stages[f"pretrain@{tokens}"].declaration
        assert isinstance(declaration, PretrainStage)
        assert (declaration.from_step, declaration.to_step) == (trained.steps(before), trained.steps(tokens))
        assert trained.tokens_after(declaration.to_step - 1) < tokens <= trained.tokens_after(declaration.to_step)
    plain = {"baseline": {**baseline(), "recipe": {**recipe, "batch_warm_up": None}}}
    other = pretraining(simulated.experiment(tmp_path, **plain, pretraining=budget(2560)))
    assert not {*other.values()} & {*shorter.values()}


@pytest.mark.parametrize(
    ("schedule", "checkpoints", "refused"),
    [
        ("constant", [1280, 640], "640 is not above 1280"),
        ("constant", [2560], "2560 is not below pretraining.tokens, 2560"),
        ("constant", [2559], "2559 ends with the same update"),
        ("linear", [1280], "1280: the rates of the schedule linear depend on the whole budget"),
        ("warmup_stable_decay", [2432], "allowed: at most 2304"),
    ],
)
def test_a_checkpoint_that_no_longer_budget_continues_is_refused(
    schedule: str, checkpoints: list[int], refused: str, tmp_path: Path
) -> None:
    recipe = {"baseline": {**baseline(), "recipe": {**RECIPE, "schedule": {"kind": schedule, "warmup_tokens": 64}}}}
    found = simulated.experiment(tmp_path, **recipe, pretraining={**budget(2560), "checkpoints": checkpoints})
    (violation,) = checkpoint_violations(found)
    assert refused in violation.message


def test_the_inputs_of_every_stage_precede_it(tmp_path: Path) -> None:
    for experiment in (simulated.experiment(tmp_path), simulated.search(tmp_path)):
        shared = shared_stages(experiment)
        ready: set[str] = set()
        for label, stage in {**shared.named(), **trial_stages(experiment, shared, experiment.baseline, 1)}.items():
            assert {needed.key for needed in stage.needs()} <= ready, label
            ready.add(stage.key)
        assert {*pretrain_labels(experiment), *fine_tune_labels(experiment)} == set(
            trial_stages(experiment, shared, experiment.baseline, 1)
        )


def budget(tokens: int) -> dict[str, Any]:
    return {"tokens": tokens, "seeds": [1]}


def pretraining(experiment: Experiment) -> dict[str, str]:
    found = keys(experiment)
    return {label: found[label] for label in pretrain_labels(experiment)}


WORDS = ["".join(letters) for letters in product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou")]


HELD_OUT: tuple[Split, ...] = ("validation", "test")


OTHER = {"corpus": {"kind": "text_files", "path": "other.txt"}}


BYTES = {"tokenizer": {"kind": "byte_bpe"}}


BY_OBJECTIVE = {"tokens": 2560, "seeds": [1], "evaluation_sets": "by_objective"}


SEARCH = {"kind": "search", "space": {"data": ["other"]}, "max_candidates": 3}


def experiment(folder: Path, data: dict[str, Any], **parts: Any) -> Experiment:
    """Return a table with an arm for each of the data."""
    (folder / "other.txt").write_text("another text\n" * 4000)
    data = {name: each if "corpus" not in each else _at(folder, each) for name, each in data.items()}
    design = {"kind": "list", "arms": {name: {"data": name} for name in data}}
    return simulated.experiment(folder, **{"design": design, "data": data, "pretraining": BY_OBJECTIVE, **parts})


def _at(folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "corpus": {**data["corpus"], "path": str(folder / data["corpus"]["path"])}}


def inputs(found: Experiment, arm: str, label: str) -> dict[str, str]:
    """Return the keys of a stage's inputs by name."""
    candidate = next(each.candidate for each in found.arms if each.name == arm)
    stage = trial_stages(found, shared_stages(found), candidate, 1)[label]
    return {name: source.key for name, source in stage.inputs.items()}


def test_another_text_is_measured_on_the_same_sets_and_another_vocabulary_on_sets_of_its_own(tmp_path: Path) -> None:
    found = experiment(tmp_path, {"other": OTHER, "bytes": BYTES})
    for label, common in (("pretrain@2560", "evaluation_set"), ("docs_pair#1", "examples")):
        baseline, other, own = (inputs(found, arm, label) for arm in ("baseline", "other", "bytes"))
        assert label != "pretrain@2560" or len({each["tokens"] for each in (baseline, other, own)}) == 3
        assert other[common] == baseline[common] != own[common]


def test_data_change_no_key_of_the_baseline_and_their_names_none_of_the_arms(tmp_path: Path) -> None:
    one, other = experiment(tmp_path, {"other": OTHER}), experiment(tmp_path, {"renamed": OTHER})
    label = "docs_pair#1"
    assert inputs(one, "other", label) == inputs(other, "renamed", label)
    assert inputs(simulated.experiment(tmp_path), "baseline", label) == inputs(one, "baseline", label)


@pytest.mark.parametrize(
    ("data", "parts", "refused"),
    [
        ({"other": OTHER}, {"pretraining": {"tokens": 2560, "seeds": [1]}}, []),
        ({"bytes": BYTES}, {}, []),
        ({"bytes": BYTES}, {"pretraining": {"tokens": 2560, "seeds": [1]}}, ["two vocabularies are not comparable"]),
        ({"bytes": BYTES}, {"fine_tuning": {}}, ["fine_tuning.tasks is empty"]),
        ({"other": {}}, {}, ["changes nothing"]),
        ({"othr": OTHER}, {"design": SEARCH}, ["'other' is not declared. Did you mean 'othr'?", "no arm has it"]),
        ({"other": BYTES}, {"design": SEARCH}, ["Write objectives: [score]"]),
        ({"other": BYTES}, {"design": {**SEARCH, "objectives": ["score"]}}, []),
    ],
)
def test_data_that_cannot_be_compared_are_refused(
    data: dict[str, Any], parts: dict[str, Any], refused: list[str], tmp_path: Path
) -> None:
    found = experiment(tmp_path, data, **parts)
    messages = [violation.message for violation in data_violations(found)]
    assert len(messages) == len(refused)
    assert all(text in message for text, message in zip(refused, messages, strict=True))
    assert {*messages} <= {violation.message for violation in violations_of(found)}


def test_another_text_has_the_common_held_out_split_and_trains_on_none_of_it(tmp_path: Path) -> None:
    generator = random.Random(1)
    texts = [" ".join(generator.choices(WORDS[:200], k=40)) for _ in range(800)]
    corpora = {name: tmp_path / name for name in ("common", "other")}
    for (name, folder), lines in zip(corpora.items(), (texts[:400], texts), strict=True):
        folder.mkdir()
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
        assemble(TextFilesCorpus(path=str(tmp_path / f"{name}.jsonl")), folder, silent)
    stage = TokensStage(tokenizer=WordOption(), read=None, vocabulary_size=205)
    inputs = {"corpus": corpora["common"]}
    found = {}
    for name in ("own", "arm"):
        folder = tmp_path / f"{name} tokens"
        folder.mkdir()
        stage.compute(StageContext(inputs, folder, ProgressFile(tmp_path / "progress.json")))
        found[name] = [read_tokens(folder / f"{split}.npy").tobytes() for split in ("train", "validation")]
        inputs = {"corpus": corpora["other"], "held_out": corpora["common"], "vocabulary": folder}
    assert found["own"][1] == found["arm"][1]
    held_out = {each.text for split in HELD_OUT for each in read_documents(corpora["common"], split)}
    repeated = {each.text for each in read_documents(corpora["other"], "train")} & held_out
    tokenizer = load_tokenizer(tmp_path / "own tokens")
    pieces = {text: np.asarray(tokenizer.encode([text])[0], np.uint16).tobytes() for text in held_out}
    assert repeated
    assert not any(pieces[text] in found["arm"][0] for text in held_out)
