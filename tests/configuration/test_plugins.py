"""Plugins: found beside the experiment, refused in one line each, and part of the keys that use them alone."""

import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from runners.dag import shared_stages, trial_stages
from runners.executors.worker import failure
from runners.stages.stage import Job, Stage
from search_space.architecture import Architecture
from search_space.convolution.option import ConvolutionOption
from search_space.shape import AttentionShape
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.plugins import PluginError, load_plugin, loaded_plugins, sources_of
from steeplechase.foundation.errors import ConfigurationError
from steeplechase.foundation.option_modules import imported_name
from steeplechase.foundation.plugin_code import explained, line_in_plugin
from steeplechase.foundation.schema import open_axes, options_of
from steeplechase.tasks.downstream import find_task, task_names
from tests.factories.paths import ROOT
from tests.factories.plugins import KIND, MODULE, OPTION, copy_of_example, kinds, loaded, no_plugins_left, replaced

TASK = '''"""Word order, under another name."""

from dataclasses import replace

from steeplechase.tasks.downstream.word_order import TASK as WORD_ORDER

TASK = replace(WORD_ORDER, name="mine")
'''


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    with no_plugins_left():
        yield


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copy_of_example(tmp_path / "copy")


def experiment_of(folder: Path) -> Experiment:
    return load_experiment(folder / "experiment.yaml", "smoke")


def test_an_experiment_loads_its_plugins_before_it_is_validated(copy: Path) -> None:
    assert KIND not in kinds()
    experiment = experiment_of(copy)
    assert KIND in kinds()
    assert [arm.candidate.architecture.convolution.kind for arm in experiment.arms][2:] == [KIND, "none", KIND]
    assert [plugin.path for plugin in experiment.plugins] == [str(copy.resolve())]
    again = Experiment.model_validate_json(experiment.model_dump_json())
    assert again.identity() == experiment.identity()


def test_without_its_plugin_an_option_is_unknown_and_an_unloaded_one_leaves_nothing(
    copy: Path,
) -> None:
    with loaded(copy):
        assert Architecture.model_validate({"convolution": KIND}).convolution.kind == KIND
    assert KIND not in kinds()
    with pytest.raises(ImportError):
        __import__(f"search_space.convolution.{KIND}")
    text = (copy / "experiment.yaml").read_text(encoding="utf-8")
    (copy / "experiment.yaml").write_text(text.replace("plugins: [.]", "plugins: []"), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"'{KIND}' is"):
        experiment_of(copy)


def test_a_plugin_that_was_edited_in_a_notebook_leaves_nothing_of_its_former_code(tmp_path: Path) -> None:
    for folder in (copy_of_example(tmp_path / "first"), copy_of_example(tmp_path / "second")):
        with no_plugins_left():
            experiment = experiment_of(folder)
            (arm,) = (each for each in experiment.arms if each.name == "gated_first")
            architecture = arm.candidate.architecture
            assert isinstance(architecture, Architecture)
            files = [sys.modules[type(each).__module__] for each in architecture.convolutions]
            (module,) = (each for each in files if each.__name__.endswith(KIND))
            assert module.__file__ == str(folder / OPTION)
            assert all(type(each) in options_of(ConvolutionOption) for each in architecture.convolutions)


def test_moving_the_folder_changes_neither_identity_nor_keys(copy: Path, tmp_path: Path) -> None:
    found = []
    for folder in (copy, copy_of_example(tmp_path / "elsewhere" / "else")):
        with no_plugins_left():
            experiment = experiment_of(folder)
            found.append((experiment.identity(), pretrain_keys(experiment)))
    assert found[0] == found[1]


def pretrain_keys(experiment: Experiment) -> dict[str, str]:
    return {name: stage.key for name, stage in pretrain_stages(experiment).items()}


def pretrain_stages(experiment: Experiment) -> dict[str, Stage]:
    shared = shared_stages(experiment)
    return {arm.name: trial_stages(experiment, shared, arm.candidate, 1)["pretrain@10000"] for arm in experiment.arms}


def test_the_source_enters_the_keys_that_use_it_and_no_others(copy: Path) -> None:
    keys, sources = [], []
    for _ in range(2):
        with no_plugins_left():
            experiment = experiment_of(copy)
            keys.append(pretrain_keys(experiment))
            sources.append({arm.name: sources_of(arm.candidate) for arm in experiment.arms})
        assert replaced(copy, "return 4 * shape.inner_width", "return 5 * shape.inner_width") < 2
    changed = {name for name, key in keys[0].items() if keys[1][name] != key}
    assert changed == {"gated", "gated_first", "gated_wide"}
    assert sources[0]["baseline"] == sources[0]["dynamic"] == {}
    assert sources[0]["gated"] != sources[1]["gated"]


@pytest.mark.parametrize("helper", ["search_space/convolution/_helper.py", "models/helper.py"])
def test_what_an_option_imports_from_the_plugin_is_part_of_its_source(copy: Path, helper: str) -> None:
    file, module = copy / helper, imported_name(helper.removesuffix(".py").replace("/", "."))
    file.write_text("ONE = 1\n", encoding="utf-8")
    unused = load_and_source(copy)
    file.write_text("ONE = 2\n", encoding="utf-8")
    assert load_and_source(copy) == unused
    user = copy / (OPTION if helper.startswith("search_space") else MODULE)
    user.write_text(f"import {module}  # noqa\n" + user.read_text(encoding="utf-8"), encoding="utf-8")
    used = load_and_source(copy)
    file.write_text("ONE = 3\n", encoding="utf-8")
    assert len({unused, used, load_and_source(copy)}) == 3


def load_and_source(folder: Path) -> object:
    with loaded(folder):
        return sources_of(Architecture.model_validate({"convolution": KIND}))[f"search_space.convolution.{KIND}"]


def test_a_job_names_the_plugins_that_its_stage_uses(copy: Path, tmp_path: Path) -> None:
    jobs = {name: Job.of(stage, str(tmp_path)) for name, stage in pretrain_stages(experiment_of(copy)).items()}
    (plugin,) = loaded_plugins()
    assert jobs["gated"].plugins == [(str(copy.resolve()), plugin.sha256)]
    assert jobs["dynamic"].plugins == []


def test_a_worker_refuses_a_plugin_that_has_changed(copy: Path) -> None:
    with loaded(copy) as plugin:
        expected = plugin.sha256
    replaced(copy, "return 4 * shape", "return 5 * shape")
    with pytest.raises(PluginError, match=f"source has changed; its sha256 was {expected}, now "):
        load_plugin(copy, expected)
    assert loaded_plugins() == ()


def test_a_task_of_a_plugin_is_found_and_its_source_enters_its_examples(copy: Path) -> None:
    (copy / "tasks" / "downstream").mkdir(parents=True)
    (copy / "tasks" / "downstream" / "mine.py").write_text(TASK, encoding="utf-8")
    text = (copy / "experiment.yaml").read_text(encoding="utf-8")
    (copy / "experiment.yaml").write_text(
        text.replace("docs_acceptability", "mine, docs_acceptability"), encoding="utf-8"
    )
    keys = []
    for _ in range(2):
        with no_plugins_left():
            stages = shared_stages(experiment_of(copy)).examples
            assert find_task("mine").name == "mine"
            keys.append({task: stage.key for task, stage in stages.items()})
        (copy / "tasks" / "downstream" / "mine.py").write_text(TASK + "# changed\n", encoding="utf-8")
    assert {task for task in keys[0] if keys[0][task] != keys[1][task]} == {"mine"}
    assert "mine" not in task_names()


def test_a_corpus_of_a_plugin_enters_the_keys_of_what_reads_it_and_goes_to_the_worker(tmp_path: Path) -> None:
    reference = ROOT / "examples" / "reference_corpus"
    folder = Path(shutil.copytree(reference, tmp_path / "copy", ignore=shutil.ignore_patterns("__pycache__")))
    keys = []
    for _ in range(2):
        with no_plugins_left():
            experiment = experiment_of(folder)
            shared = shared_stages(experiment)
            keys.append((shared.corpus.key, shared.tokens.key, experiment.identity()))
            (plugin,) = loaded_plugins()
            assert Job.of(shared.corpus, str(tmp_path)).plugins == [(str(folder.resolve()), plugin.sha256)]
        replaced(folder, "len(text) >= self.shortest", "len(text) > self.shortest")
    assert all(before != after for before, after in zip(*keys, strict=True))
    text = (folder / "experiment.yaml").read_text(encoding="utf-8")
    (folder / "experiment.yaml").write_text(text.replace("plugins: [.]", "plugins: []"), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="'python_reference' is"):
        experiment_of(folder)


def test_every_module_of_an_option_has_what_its_axis_says_builds_it() -> None:
    axes = [axis for axis in open_axes() if axis.modules]
    assert all(axis.entry for axis in axes)
    for axis in axes:
        for option in options_of(axis):
            module = f"{axis.modules}.{option.model_fields['kind'].default}"
            assert find_spec(module) is None or hasattr(import_module(module), axis.entry), module


def test_an_exception_of_a_plugin_is_explained_with_the_line_of_its_code(copy: Path) -> None:
    replaced(copy, "return 4 * shape.inner_width", 'raise KeyError("first\\nsecond")')
    line = 1 + next(
        number for number, text in enumerate((copy / OPTION).read_text().splitlines()) if "raise KeyError" in text
    )
    with loaded(copy):
        (option,) = (each for each in options_of(ConvolutionOption) if each.model_fields["kind"].default == KIND)
        with pytest.raises(KeyError) as raised:
            option().saved_activations(AttentionShape(32, 2, 16))
        assert explained(raised.value).endswith(f"({OPTION}:{line})")
        assert failure(raised.value)["error"] == f"KeyError: 'first\\nsecond' ({OPTION}:{line})"
    assert line_in_plugin(raised.value) is None


def test_two_plugins_with_one_option_are_refused_unless_they_are_equal(copy: Path, tmp_path: Path) -> None:
    load_plugin(copy)
    other = copy_of_example(tmp_path / "other")
    load_plugin(other)
    replaced(other, "return 4 * shape", "return 5 * shape")
    with pytest.raises(PluginError, match="is loaded already, from"):
        load_plugin(other)
