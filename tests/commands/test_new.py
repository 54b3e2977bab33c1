"""An experiment of one's own: `new`, `init`, `experiments`, names in place of paths, `--set`, and the examples."""

import json
from contextlib import chdir
from pathlib import Path

import pytest

from runners.dag import shared_stages, trial_stages
from runners.settings import Selection
from steeplechase.commands.arguments import choose
from steeplechase.commands.new import copied
from steeplechase.commands.new_part import PART_RULE, example_folder
from steeplechase.commands.plugin_contracts import checked, unused_files
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.yaml import read_file
from steeplechase.configuration.yaml.experiment_files import experiment_file, experiment_files
from steeplechase.foundation.errors import ConfigurationError, DataError
from steeplechase.tasks.own_metrics import own_scores
from tests.factories.command_calls import TABLE, Call
from tests.factories.paths import EXPERIMENT_FILES, ROOT
from tests.factories.plugins import copy_of, loaded


def test_the_template_is_an_experiment_at_every_scale(call: Call, tmp_path: Path) -> None:
    answer = call("new", tmp_path / "mine.yaml")
    assert (answer.code, answer.out.splitlines()[1]) == (0, "scales: demo, smoke")
    for scale in ("demo", "smoke"):
        experiment, name, _ = choose(tmp_path / "mine.yaml", scale)
        assert (experiment.experiment, name) == ("mine", scale)
    assert (tmp_path / "mine.yaml").read_text().startswith(f"# yaml-language-server: $schema={ROOT}/experiments/")


@pytest.mark.parametrize("name", ["table1", "albert/table5", "kernel_size_short"])
def test_a_copy_has_the_scales_and_arms_of_the_original(call: Call, tmp_path: Path, name: str) -> None:
    assert call("new", tmp_path / "mine.yaml", "--like", name).code == 0
    copy, original = (read_file(path) for path in (tmp_path / "mine.yaml", ROOT / f"experiments/{name}.yaml"))
    assert copy.scales == original.scales
    own, _, _ = choose(tmp_path / "mine.yaml", "smoke")
    other, _, _ = choose(ROOT / f"experiments/{name}.yaml", "smoke")
    assert own.model_dump() == {**other.model_dump(), "experiment": "mine"}


def test_references_are_relative_below_the_working_folder(tmp_path: Path) -> None:
    (tmp_path / "experiments" / "deep").mkdir(parents=True)
    (tmp_path / "experiments" / "a.yaml").write_text("experiment: a\nscales: { like: b.yaml }\nplugins: [../mine]\n")
    with chdir(tmp_path):
        text = copied(Path("experiments/a.yaml"), Path("experiments/deep/c.yaml"))
    assert text.splitlines()[1:] == ["experiment: c", "scales: { like: ../b.yaml }", "plugins: [../../mine]"]


def test_nothing_is_overwritten_and_a_name_is_a_name(call: Call, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("precious")
    answer = call("new", tmp_path / "mine")
    assert (answer.code, answer.err.count("\n")) == (6, 1)
    assert (tmp_path / "mine.yaml").read_text() == "precious"
    assert call("new", tmp_path / "a b").code == 3
    answer = call("new", tmp_path / "other", "--like", "tabel2")
    assert (answer.code, answer.err) == (
        3,
        "tabel2: No such file or directory. Did you mean experiments/table2.yaml?\n",
    )
    assert not (tmp_path / "other.yaml").exists()
    (tmp_path / "no.yaml").write_text("a: 1\n")
    assert call("new", tmp_path / "other", "--like", tmp_path / "no.yaml").code == 3


def test_init_copies_every_experiment_and_the_schema_once(call: Call, tmp_path: Path) -> None:
    assert call("init", tmp_path / "work").code == 0
    copied_files, files = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "work" / "experiments", ROOT / "experiments")
    )
    assert copied_files == files
    assert call("init", tmp_path / "work").code == 6


def test_experiments_are_listed_with_questions_and_scales(call: Call) -> None:
    found = {each["name"]: each for each in json.loads(call("experiments", "--json").out)}
    assert len(found) == len(EXPERIMENT_FILES)
    assert found["table2"]["question"] == "How should convolution be joined to self-attention?"
    assert found["bert/table5"]["scales"]
    assert all(each["question"] for each in found.values())
    listed = call("experiments").out
    assert "table2\n  How should convolution" in listed
    assert "scales: paper, gpu, laptop, wikipedia, demo, smoke" in listed


def test_a_name_stands_for_a_file_of_the_folder_then_for_an_experiment(tmp_path: Path) -> None:
    with chdir(tmp_path):
        assert experiment_file(Path("table2")) == TABLE
        assert experiment_file(Path("bert/table5")) == ROOT / "experiments" / "bert" / "table5.yaml"
        (tmp_path / "experiments").mkdir()
        (tmp_path / "experiments" / "table2.yaml").touch()
        assert experiment_file(Path("table2")) == Path("experiments/table2.yaml")
        (tmp_path / "table2.yaml").touch()
        assert experiment_file(Path("table2")) == Path("table2.yaml")
        assert experiment_file(Path("nothing")) == Path("nothing")
        assert experiment_file(Path("some/table2.yml")) == Path("some/table2.yml")
    assert next(iter(experiment_files())) == "budget"


def test_a_setting_is_in_the_plan_and_names_the_results_folder(call: Call, tmp_path: Path) -> None:
    chosen = ("plan", "table2", "--scale", "smoke", "--json", "--out", tmp_path)
    before, after = (json.loads(call(*chosen, *more).out) for more in ((), ("--set", "pretraining.tokens=1e5")))
    assert after["arms"][0]["train_flops"] > before["arms"][0]["train_flops"]
    overrides = ("pretraining.tokens=1e5", "recipe.dropout=0.1", "pretraining.seeds=[1, 2]")
    folder = Selection(overrides=overrides).paths_of("table2", "smoke").folder
    assert folder == Path("results/table2-smoke-tokens=1e5,dropout=0.1")
    long = [Selection(overrides=(f"question={'long ' * 30}{end}",)).paths_of("t", "s").folder.name for end in "ab"]
    assert long[0] != long[1]
    assert all(len(name) < 80 for name in long)


def test_a_wrong_setting_names_the_flag_and_all_are_named_at_once(call: Call) -> None:
    wrong = ("pretraining.tokens=many", "pretraining.sedes=[1]")
    answer = call("plan", TABLE, "--scale", "smoke", *(part for each in wrong for part in ("--set", each)))
    assert answer.code == 3
    assert answer.err.splitlines() == [
        "--set pretraining.sedes=[1]: pretraining.sedes: 'sedes' is not a key here. Did you mean 'seeds'?",
        "--set pretraining.tokens=many: pretraining.tokens: 'many' is text; a whole number is needed",
    ]


EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize(
    "name",
    [
        *("lion_optimiser", "power_schedule", "repeated_word", "weighted_metric", "embedding_geometry"),
        "reference_corpus",
    ],
)
def test_an_example_under_another_name_keeps_every_contract_and_its_experiment_is_valid(
    name: str, call: Call, tmp_path: Path
) -> None:
    folder = tmp_path / "of_mine"
    assert call("new", folder, "--like", EXAMPLES / name).code == 0
    with loaded(folder) as plugin:
        outcomes = [*checked(plugin), *unused_files(plugin)]
        assert outcomes
        assert [each for each in outcomes if each.problem] == []
        for scale in ("smoke", "laptop"):
            assert load_experiment(folder / "experiment.yaml", scale).experiment == "of_mine"


@pytest.mark.parametrize("example", sorted(path.parent.name for path in EXAMPLES.glob("*/experiment.yaml")))
def test_a_part_has_one_new_name_in_files_code_experiment_and_explanation(
    example: str, call: Call, tmp_path: Path
) -> None:
    answer = call("new", tmp_path / "of_mine", "--like", EXAMPLES / example)
    assert answer.out.splitlines() == [f"written: {tmp_path}/of_mine", f"next: steeplechase check {tmp_path}/of_mine"]
    (part,) = {file.stem for file in (EXAMPLES / example).rglob("*.py")}
    written = {file.relative_to(tmp_path / "of_mine"): file for file in tmp_path.rglob("*.*")}
    files = (file for file in (EXAMPLES / example).rglob("*.*") if file.suffix in {".py", ".yaml", ".md"})
    originals = (file.relative_to(EXAMPLES / example) for file in files)
    assert {*written} == {file.with_stem("of_mine") if file.suffix == ".py" else file for file in originals}
    for name, file in written.items():
        text = file.read_text()
        assert "of_mine" in text or name.suffix == ".py"
        assert f'"{part}"' not in text
        assert f"{part}.py" not in text
        assert f"kind: {part} " not in text


def test_an_example_is_found_by_its_name_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meant = r"Did you mean examples/gated_convolution\?"
    with chdir(tmp_path):
        for name in ("gated_convolution", "examples/gated_convolution"):
            assert example_folder(Path(name)) == EXAMPLES / "gated_convolution"
        for name in ("table2", "bert/table5", "tabel2", "mine.yaml"):
            assert example_folder(Path(name)) is None
        for name in ("gated_convolutoin", "examples/gated-convolution"):
            with pytest.raises(ConfigurationError, match=meant):
                example_folder(Path(name))
        with pytest.raises(ConfigurationError, match="no such example; there are embedding_geometry, "):
            example_folder(Path("examples/zzz"))
        monkeypatch.setattr("steeplechase.commands.new_part.EXAMPLES", tmp_path / "examples")
        with pytest.raises(ConfigurationError, match="the examples are in the repository"):
            example_folder(Path("examples/gated_convolution"))


def test_what_is_no_single_part_is_not_copied(call: Call, tmp_path: Path) -> None:
    for name in ("Mine", "a b", "1st"):
        answer = call("new", tmp_path / name, "--like", EXAMPLES / "token_shift")
        assert (answer.code, answer.err) == (3, f"{name!r}: {PART_RULE}\n")
    folder = copy_of(EXAMPLES / "token_shift", tmp_path / "plugin")
    (folder / "models" / "sublayer" / "other.py").touch()
    answer = call("new", tmp_path / "mine", "--like", folder)
    assert (answer.code, "has other.py, token_shift.py; a" in answer.err) == (3, True)
    assert "has no module; a" in call("new", tmp_path / "mine", "--like", tmp_path).err
    assert call("new", folder, "--like", EXAMPLES / "token_shift").code == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plugin"]


METRICS = """
from statistics import mean
def agreed(references, predictions):
    return 100 * mean(a == b for a, b in zip(references, predictions))
def by_label(references, predictions):
    return {"yes": 50.0}
def failing(references, predictions):
    raise RuntimeError("no")
def text(references, predictions):
    return "high"
def endless(references, predictions):
    return float("inf")
"""


def test_a_metric_is_a_function_that_its_own_file_defines_and_returns_finite_numbers(tmp_path: Path) -> None:
    file = tmp_path / "plugin" / "tasks" / "own_metrics" / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text(METRICS)
    with loaded(tmp_path / "plugin"):
        assert own_scores("mine:agreed", ["a", "b"], ["a", "a"]) == {"agreed": 50.0}
        assert own_scores("mine:by_label", [], []) == {"by_label.yes": 50.0}
        for name, reason in {
            "mean": "defines no function mean",
            "absent": "defines no function absent",
            "failing": "RuntimeError: no",
            "text": "it returned 'high'",
            "endless": "it returned inf",
        }.items():
            with pytest.raises(DataError, match=reason):
                own_scores(f"mine:{name}", ["a"], ["a"])


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ('{ word_order: ["cost:weighted_accuracy"] }', "no folder of `plugins` has tasks/own_metrics/cost.py"),
        ('{ word_order: ["costs:weighted"] }', "defines no function weighted"),
        ('{ word_order: ["weighted"] }', "is not FILE:FUNCTION"),
        ('{ word_orders: ["costs:recall"] }', "is not among the tasks"),
        ('{ word_order: ["costs:recall", "costs:recall"] }', "listed twice"),
    ],
)
def test_metrics_that_cannot_be_computed_are_refused_with_their_line(
    metrics: str, message: str, tmp_path: Path
) -> None:
    folder = copy_of(EXAMPLES / "weighted_metric", tmp_path / "plugin")
    file = folder / "experiment.yaml"
    text = file.read_text()
    declared = text[text.index("metrics:") : text.index("# beside")]
    file.write_text(text.replace(declared, f"metrics: {metrics} "))
    with loaded(folder), pytest.raises(ConfigurationError, match=message):
        load_experiment(file, "smoke")


def test_a_measurement_is_a_stage_whose_key_has_its_source(tmp_path: Path) -> None:
    folder = copy_of(EXAMPLES / "embedding_geometry", tmp_path / "plugin")
    file = folder / "tasks" / "own_measurements" / "geometry.py"
    found = []
    for text in (file.read_text(), file.read_text().replace("PAIRS = 1000", "PAIRS = 2000")):
        file.write_text(text)
        with loaded(folder):
            experiment = load_experiment(folder / "experiment.yaml", "smoke")
            stages = trial_stages(experiment, shared_stages(experiment), experiment.baseline, 1)
            found.append({label: stage.key for label, stage in stages.items()})
    first, second = found
    changed = {label for label in first if first[label] != second[label]}
    assert changed == {"own_measurement rank", "own_measurement cosine"}


def test_a_measurement_that_changes_the_encoder_breaks_its_contract(tmp_path: Path) -> None:
    folder = copy_of(EXAMPLES / "embedding_geometry", tmp_path / "plugin")
    (folder / "tasks" / "own_measurements" / "mine.py").write_text(
        "def pruned(encoder, tokens):\n"
        "    for weights in encoder.parameters():\n        weights.data.zero_()\n    return 1.0\n"
        "def text(encoder, tokens):\n    return 'high'\n"
    )
    with loaded(folder) as plugin:
        problems = {(each.option, each.contract): each.problem for each in checked(plugin) if each.problem}
    assert "changed: " in problems["mine:pruned", "it leaves the encoder and its mode as they were"]
    assert "it returned 'high'" in problems["mine:text", "it returns finite numbers"]
