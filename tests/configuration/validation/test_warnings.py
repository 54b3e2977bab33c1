"""What an experiment most likely does not mean is warned of."""

from pathlib import Path

import pytest

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.validation.warnings import least_memory, too_small_card, warnings_of

TEXT = """
experiment: warned
question: Is it meant?
baseline:
  architecture: {{ depth: 2, width: 64, heads: 4, positions: 64 }}
  {objective}
  recipe: {{ sequence_length: 32, batch_sequences: 16, schedule: {{ kind: {kind}, warmup_tokens: {warmup} }} }}
design: {{ kind: list, arms: {{ fast: {{ recipe.schedule.warmup_tokens: 512 }} }} }}
pretraining: {{ tokens: 10240, seeds: [1], evaluations: {evaluations} }}
"""


def warned(
    folder: Path, objective: str = "objective: masked_language_model", kind: str = "linear", **parts: int
) -> tuple[str, ...]:
    file = folder / "f.yaml"
    file.write_text(TEXT.format(objective=objective, kind=kind, **{"warmup": 1024, "evaluations": 8, **parts}))
    return warnings_of(load_experiment(file, None))


def test_a_recipe_that_can_work_is_not_warned_of(tmp_path: Path) -> None:
    assert warned(tmp_path) == ()


@pytest.mark.parametrize(
    ("design", "field"),
    [
        ("list, arms: { a: { architecture: { heads: 2, positions: 64 } } }", "architecture.heads"),
        ("ladder, components: { a: { architecture: { heads: 2, positions: 64 } } }", "architecture.heads"),
        ("list, arms: { a: { architecture.heads: 2, recipe.dropout: 0.2 } }", None),
        ("list, arms: { a: { recipe.schedule: { kind: linear, warmup_tokens: 512 } } }", None),
    ],
)
def test_a_part_that_an_arm_replaces_as_a_whole_is_warned_of(tmp_path: Path, design: str, field: str | None) -> None:
    parts = {"objective": "objective: masked_language_model", "kind": "linear", "warmup": 1024, "evaluations": 8}
    list_design = "list, arms: { fast: { recipe.schedule.warmup_tokens: 512 } }"
    (tmp_path / "g.yaml").write_text(TEXT.format(**parts).replace(list_design, design))
    found = warnings_of(load_experiment(tmp_path / "g.yaml", None))
    if field is None:
        assert found == ()
    else:
        (line,) = found
        assert line.startswith("a: architecture is replaced as a whole; depth, width of the baseline become")
        assert line.endswith(f"write paths, such as {field}")


DYNAMIC = "{ kind: dynamic, kernel_size: 3 }"
TAKEN = "replaces the kernel_size of convolution dynamic(kernel_size=3). Leave kernel_size out of the option"


@pytest.mark.parametrize(
    ("design", "line"),
    [
        (
            "list, arms: { a: { convolution: %s, convolution.kernel_size: 5 } }",
            f"a: convolution.kernel_size 5 {TAKEN}",
        ),
        ("list, arms: { a: { convolution: %s, convolution.kernel_size: 3 } }", ""),
        ("list, arms: { a: { convolution: %s }, b: { convolution: dynamic, convolution.kernel_size: 5 } }", ""),
        (
            "factorial, vary: { convolution: [none, %s], convolution.kernel_size: [3, 5] }",
            f"design.vary: convolution.kernel_size 3 or 5 {TAKEN}",
        ),
        (
            "zip, vary: { convolution: [span_dynamic, %s], convolution.kernel_size: [3, 5] }",
            f"design.vary: convolution.kernel_size 5 {TAKEN}",
        ),
        ("zip, vary: { convolution: [span_dynamic, %s], convolution.kernel_size: [5, 3] }", ""),
        ("ladder, components: { a: { convolution: %s }, b: { convolution.kernel_size: 5 } }", ""),
        (
            "search, max_candidates: 3, space: { convolution: [none, %s], convolution.kernel_size: [3, 5] }",
            f"design.space: convolution.kernel_size 3 or 5 {TAKEN}",
        ),
    ],
)
def test_a_field_of_an_option_that_a_path_beside_it_replaces_is_warned_of(
    tmp_path: Path, design: str, line: str
) -> None:
    parts = {"objective": "objective: masked_language_model", "kind": "linear", "warmup": 1024, "evaluations": 8}
    list_design = "list, arms: { fast: { recipe.schedule.warmup_tokens: 512 } }"
    (tmp_path / "g.yaml").write_text(TEXT.format(**parts).replace(list_design, design.replace("%s", DYNAMIC)))
    found = [each for each in warnings_of(load_experiment(tmp_path / "g.yaml", None)) if "replaces" in each]
    assert found == [line] * bool(line)


@pytest.mark.parametrize("kind", ["linear", "constant"])
@pytest.mark.parametrize("warmup", [10240, 12800])
def test_a_warm_up_as_long_as_training_is_warned_of(tmp_path: Path, kind: str, warmup: int) -> None:
    (line,) = warned(tmp_path, kind=kind, warmup=warmup)
    updates = warmup // 512
    assert line.startswith(f"baseline: the warm-up takes {updates} updates and pretraining has 20, so the peak")
    assert line.endswith("such as 1024")


@pytest.mark.parametrize(("values", "compared"), [("[64]", False), ("[64, 128]", True), ("[128]", True)])
def test_a_design_of_the_baseline_alone_is_warned_of(tmp_path: Path, values: str, compared: bool) -> None:
    (tmp_path / "g.yaml").write_text(
        TEXT.format(objective="objective: masked_language_model", kind="linear", warmup=1024, evaluations=8).replace(
            "{ kind: list, arms: { fast: { recipe.schedule.warmup_tokens: 512 } } }",
            f"{{ kind: one_factor, vary: {{ width: {values} }} }}",
        )
    )
    lines = warnings_of(load_experiment(tmp_path / "g.yaml", None))
    assert ["nothing is compared" in line for line in lines] == ([] if compared else [True])


@pytest.mark.parametrize(("rates", "chosen"), [("[5e-4]", False), ("[1e-3]", True), ("[5e-4, 1e-3]", True)])
def test_a_tuning_over_the_shared_recipe_alone_is_warned_of(tmp_path: Path, rates: str, chosen: bool) -> None:
    tune = f"tune: {{ vary: {{ recipe.peak_learning_rate: {rates} }}, trials: 2, seeds: [101] }}"
    parts = {"objective": "objective: masked_language_model", "kind": "linear", "warmup": 1024, "evaluations": 8}
    (tmp_path / "g.yaml").write_text(TEXT.format(**parts) + tune)
    lines = warnings_of(load_experiment(tmp_path / "g.yaml", None))
    assert ["nothing is chosen" in line for line in lines] == ([] if chosen else [True])


@pytest.mark.parametrize(("tokens", "long"), [(1024, False), (9000, False), (12800, True)])
def test_batches_that_grow_and_masks_that_move_beyond_the_end_are_warned_of(
    tmp_path: Path, tokens: int, long: bool
) -> None:
    growing = f"recipe.batch_warm_up: {{ initial_sequences: 4, tokens: {tokens} }}"
    moving = f"objective.mask_rate_schedule: {{ initial_rate: 0.3, tokens: {tokens} }}"
    text = TEXT.format(objective="objective: masked_language_model", kind="linear", warmup=1024, evaluations=8)
    arms = "fast: { recipe.schedule.warmup_tokens: 512 }"
    assert arms in text
    file = tmp_path / "f.yaml"
    file.write_text(text.replace(arms, f"growing: {{ {growing} }}, moving: {{ {moving} }}"))
    lines = warnings_of(load_experiment(file, None))
    assert [line.partition(":")[0] for line in lines] == (["growing", "moving"] if long else [])
    assert not long or lines[0].endswith("Write a smaller recipe.batch_warm_up.tokens, such as 1024")
    assert not long or lines[1].endswith("Write at most 10240 in objective.mask_rate_schedule.tokens")


def test_more_evaluations_than_updates_are_warned_of(tmp_path: Path) -> None:
    (line,) = warned(tmp_path, evaluations=21)
    assert "pretraining.evaluations is 21" in line
    assert "20 updates" in line


def test_an_objective_that_is_left_out_is_warned_of_and_one_that_is_named_is_not(tmp_path: Path) -> None:
    (line,) = warned(tmp_path, objective="")
    assert line.startswith("baseline.objective is missing; the default is replaced_token_detection")
    assert warned(tmp_path, objective="objective: replaced_token_detection") == ()


@pytest.mark.parametrize(
    ("tokenizer", "task", "lost"),
    [
        ("wordpiece", "multi30k_en_de", True),
        ("unigram", "multi30k_en_de", True),
        ("{ kind: wordpiece, lowercase: false }", "multi30k_en_de", False),
        ("byte_bpe", "multi30k_en_de", False),
        ("wordpiece", "docs_pair", False),
    ],
)
def test_a_tokenizer_that_drops_the_case_of_written_targets_is_warned_of(
    tmp_path: Path, tokenizer: str, task: str, lost: bool
) -> None:
    file = tmp_path / "f.yaml"
    text = TEXT.format(objective="objective: denoising", kind="linear", warmup=1024, evaluations=8)
    text = text.replace("{ depth: 2,", "{ kind: encoder_decoder, decoder_depth: 1, depth: 2,")
    data = f"fine_tuning: {{ tasks: [{task}], data: {tmp_path}, sequence_length: 32 }}"
    file.write_text(f"{text}{data}\ntokenizer: {tokenizer}\n")
    lines = warnings_of(load_experiment(file, None))
    assert len(lines) == lost
    assert all("the targets of multi30k_en_de have case and accents" in line for line in lines)


def with_arms(folder: Path, arms: str) -> Experiment:
    """Return the experiment with these arms."""
    file = folder / "f.yaml"
    text = TEXT.format(objective="objective: masked_language_model", kind="linear", warmup=1024, evaluations=8)
    file.write_text(text.replace("{ fast: { recipe.schedule.warmup_tokens: 512 } }", arms))
    return load_experiment(file, None)


def test_arms_that_need_more_than_the_machines_memory_are_warned_of_by_their_need(tmp_path: Path) -> None:
    experiment = with_arms(tmp_path, "{ wide: { width: 1024 }, large: { recipe.batch_sequences: 4096 } }")
    assert not [line for line in warnings_of(experiment, 2**40) if "memory" in line or "GiB" in line]
    needs = [line for line in warnings_of(experiment, 2**29) if "GiB" in line]
    assert [line.partition(":")[0] for line in needs] == ["large"]
    assert "and this machine has 0.5 GiB. Write smaller sizes, a smaller recipe.batch_sequences" in needs[0]
    assert [line.partition(":")[0] for line in warnings_of(experiment, 2**20) if "GiB" in line] == [
        "baseline",
        "wide",
        "large",
    ]


def test_a_device_with_its_own_memory_and_activations_that_are_computed_again_are_not_counted(tmp_path: Path) -> None:
    experiment = with_arms(
        tmp_path, "{ cuda: { recipe.device: cuda }, again: { recipe.activation_checkpointing: full } }"
    )
    lines = [line for line in warnings_of(experiment, 2**20) if "GiB" in line]
    assert [line.partition(":")[0] for line in lines] == ["baseline", "again"]
    assert "0.0 GiB of saved activations" in lines[1]


def test_a_card_is_warned_of_where_more_micro_batches_help_and_refused_where_they_do_not(tmp_path: Path) -> None:
    """A lower bound of what one process needs; a run goes on once with twice the micro-batches."""
    experiment = with_arms(
        tmp_path, "{ cuda: { recipe.device: cuda }, four: { recipe.device: cuda, recipe.processes: 4 } }"
    )
    cuda, four = (arm.candidate for arm in experiment.arms[1:])
    weights, activations = least_memory(cuda)
    assert least_memory(four) == (weights, activations // 4)
    for memory, warned, refused in (
        (weights + activations, [], []),
        (weights + activations - 1, ["cuda"], []),
        (weights + activations // 2 - 1, [], ["cuda"]),
        (weights - 1, [], ["cuda", "four"]),
    ):
        lines = [each for each in warnings_of(experiment, None, memory) if "GiB" in each]
        assert [line.partition(":")[0] for line in lines] == warned
        assert all(line.endswith("goes on with twice the micro-batches") for line in lines)
        told = [line.split(": ")[1] for line in too_small_card(experiment, memory)]
        assert told == [f"cuda of {name}" for name in refused]
    assert [*too_small_card(experiment, 2**40)] == []


@pytest.mark.parametrize(
    ("arm", "tasks", "where"),
    [
        ("{ visibility: left_to_right }", "docs_pair, docs_answer", "docs_pair. Write pooling: last, or mean"),
        ("{ visibility: left_to_right, fine_tuning: { pooling: last } }", "docs_pair", None),
        (
            "{ visibility: right_to_left, fine_tuning: { pooling: last } }",
            "docs_pair",
            "docs_pair. Write pooling: first",
        ),
        ("{ visibility: left_to_right }", "docs_answer", None),
        ("{ visibility: left_to_right }", "read", None),
    ],
)
def test_a_pooled_vector_that_has_not_read_the_text_is_warned_of(
    tmp_path: Path, arm: str, tasks: str, where: str | None
) -> None:
    parts = {"objective": "objective: language_model", "kind": "linear", "warmup": 1024, "evaluations": 8}
    text = TEXT.format(**parts).replace("{ recipe.schedule.warmup_tokens: 512 }", arm)
    own = "own_tasks: { read: { kind: features, of: docs_pair } }" * (tasks == "read")
    text = text.replace("positions: 64 }", "positions: 64, visibility: right_to_left }")
    (tmp_path / "g.yaml").write_text(f"{text}fine_tuning: {{ tasks: [{tasks}], sequence_length: 32, {own} }}\n")
    lines = warnings_of(load_experiment(tmp_path / "g.yaml", None))
    assert [line.startswith("fast: with visibility") for line in lines] == [True] * (where is not None)
    assert where is None or where in lines[0]


@pytest.mark.parametrize(
    ("visibility", "objective", "kind"),
    [
        ("left_to_right", "next_sentence_prediction", "next_sentence_prediction"),
        ("prefix", "{ kind: combined, parts: [word_structure, sentence_structure] }", "sentence_structure"),
        ("right_to_left", "next_sentence_prediction", None),
        ("left_to_right", "{ kind: next_sentence_prediction, pair_weight: 0.0 }", None),
    ],
)
def test_a_classifier_of_pairs_that_has_not_read_both_is_warned_of(
    tmp_path: Path, visibility: str, objective: str, kind: str | None
) -> None:
    parts = {"objective": "objective: masked_language_model", "kind": "linear", "warmup": 1024, "evaluations": 8}
    arm = f"{{ visibility: {visibility}, objective: {objective} }}"
    text = TEXT.format(**parts).replace("{ recipe.schedule.warmup_tokens: 512 }", arm)
    (tmp_path / "g.yaml").write_text(text)
    lines = [line for line in warnings_of(load_experiment(tmp_path / "g.yaml", None)) if "[CLS]" in line]
    assert len(lines) == (kind is not None)
    assert kind is None or lines[0].startswith(
        f"fast: with visibility {visibility} the vector of [CLS], by which {kind}"
    )
