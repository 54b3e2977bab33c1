"""Stage keys depend on everything that changes a result and on nothing else."""

from pathlib import Path
from typing import Any

import pytest

from runners.dag import shared_stages, trial_stages
from runners.stage_labels import fine_tune_labels, pretrain_labels
from runners.stages.pretrain import PretrainStage
from search_space.overrides import apply
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.validation.initial_checkpoints import checkpoint_violations, last_checkpoint
from tests.factories import simulated_training as simulated
from tests.factories.simulated_training import ARCHITECTURE, RECIPE


def keys(experiment: Experiment, seed: int = 1, **changes: Any) -> dict[str, str]:
    shared = shared_stages(experiment)
    stages = trial_stages(experiment, shared, apply(experiment.baseline, changes), seed)
    return {label: stage.key for label, stage in {**shared.by_label, **stages}.items()}


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
    own = mixed.by_label["evaluation_set replaced_token_detection"]
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
        for label, stage in {**shared.by_label, **trial_stages(experiment, shared, experiment.baseline, 1)}.items():
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
