"""The example plugin from `check` to a table; its results outlive its folder. On Ray: `test_search_executors.py`."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from steeplechase.commands.arguments import choose
from steeplechase.commands.plugin_contracts import measured
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.plugin_folders import COPIES
from steeplechase.models.contract import Outcome
from tests.factories.command_calls import Call, called
from tests.factories.command_line import ROOT, SHARED, SMALL_CORPUS, Run, lend, stages_told
from tests.factories.local_models import run as compute
from tests.factories.plugins import MODULE, OPTION, copy_of, copy_of_example, no_plugins_left, replaced

pytestmark = pytest.mark.engines
CONTRACTS = 9
SMOKE = ("--scale", "smoke")
SMALL = (*SMOKE, *SMALL_CORPUS, "--set", "pretraining.tokens=4096")
FEW = (SMALL_CORPUS[1], "pretraining.tokens=2048", "fine_tuning.tasks=[]")
"""Settings of a table of held-out losses."""
BERT, REFERENCE, SHUFFLED = (
    ROOT / "examples" / name for name in ("transformers_bert", "reference_corpus", "shuffled_tokens")
)


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    """Commands that are called in this process load plugins."""
    with no_plugins_left():
        yield


def computed(experiment: Path, out: Path, *settings: str) -> None:
    """Compute every stage of the smoke scale of an experiment in this process."""
    wanted, _, _ = choose(experiment, "smoke", settings)
    assert isinstance(wanted, Experiment)
    compute(wanted, out)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """Return a copy of the example and its finished run."""
    folder = copy_of_example(tmp_path_factory.mktemp("plugins") / "example")
    out = folder.parent / "results"
    with no_plugins_left():
        ended = called("run", folder / "experiment.yaml", *SMALL, "--out", out, "--workers", "1")
    assert ended.code == 0, ended.err
    return folder, Run(out, ended.err, 0.0)


def test_check_prints_a_line_per_contract_and_fails_for_a_broken_one(call: Call, tmp_path: Path) -> None:
    folder = copy_of_example(tmp_path / "example")
    assert replaced(folder, "return 4 * shape.inner_width", "return 42 * shape.inner_width // 10") == 1
    bad = call("check", folder)
    assert (bad.code, bad.err) == (1, "")
    assert sum(line.startswith("holds") for line in bad.out.splitlines()) == CONTRACTS - 1
    (line,) = (line for line in bad.out.splitlines() if line.startswith("broken"))
    assert line == (
        "broken   gated_dilated: saved activations are those the built module keeps: "
        "saved values per token at width 32: declared 67, kept 64.0"
    )


UNUSED = {
    "models/convolution/foo.py": "its declaration search_space/convolution/foo.py is missing",
    "models/sublayer/foo.py": "its declaration search_space/sublayer/foo.py is missing",
    "tasks/objectives/foo.py": "its declaration search_space/objective/foo.py is missing",
    "search_space/position/foo.py": "it declares nothing, and no file imports it",
    "tasks/tokenizer/foo.py": "it declares nothing, and no file imports it",
}


def test_every_file_that_no_declaration_uses_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    allowed = ("models/mine.py", "search_space/position/_shared.py")
    for name in (*UNUSED, *allowed):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('"""A file."""\n', encoding="utf-8")
    found = [each for each in measured(folder) if isinstance(each, Outcome)]
    contract = "a declaration uses every file"
    assert found == [Outcome(name, contract, problem=reason) for name, reason in sorted(UNUSED.items())]


def test_check_says_which_file_needs_the_code_that_ends_the_process(call: Call, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(BERT, tmp_path / "plugin"))
    factory = "import os, signal\n\n\ndef build(**arguments):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    (folder / "models/transformers_bert.py").write_text(factory, encoding="utf-8")
    found = call("check", folder)
    assert (found.code, found.err) == (1, "")
    ended = "it was ended by SIGKILL; the rest is not measured"
    assert found.out.splitlines() == [
        f"broken   experiment.yaml: its code never ends the process: {ended}",
        "0 contracts hold, 1 are broken, 0 were skipped",
    ]


BROKEN = {
    "gated_convolution": ["parameters", "operations", "saved_activations", "reach", "branch_width_ratio"],
    "token_shift": ["components"],
    "power_schedule": ["multiplier", "horizon", "after_warm_up"],
    "lion_optimiser": ["title"],
}


@pytest.mark.parametrize(("example", "method"), [(each, name) for each, names in BROKEN.items() for name in names])
def test_an_exception_in_a_declaration_is_told_with_its_line_and_never_as_a_defect(
    call: Call, tmp_path: Path, example: str, method: str
) -> None:
    folder = copy_of(ROOT / "examples" / example, tmp_path / "plugin")
    (file,) = (each for each in folder.rglob("search_space/*/*.py") if f"def {method}(" in each.read_text())
    lines = file.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if f"def {method}(" in line) + 2
    lines.insert(at, '        raise KeyError("own trouble")')
    file.write_text("\n".join(lines), encoding="utf-8")
    found = call("plan", folder / "experiment.yaml", "--scale", "smoke")
    assert "a defect of this program" not in found.err
    if found.code:  # some are asked in a run alone
        assert f"{file.relative_to(folder)}:{at + 1}" in found.err or "own trouble" in found.err
        assert found.code == 3


def test_check_names_the_file_whose_code_fails_before_any_contract(call: Call, tmp_path: Path) -> None:
    folder = copy_of_example(tmp_path / "plugin")
    assert replaced(folder, "kernel_size: KernelSize = 9", "kernel_size: KernelSize = 8 // 0") == 1
    found = call("check", folder)
    assert (found.code, found.out) == (3, "")
    assert "gated_dilated.py:21: cannot be imported: ZeroDivisionError" in found.err


def test_the_factories_of_a_folders_experiments_are_built_and_keep_every_contract(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    folder = copy_of(BERT, tmp_path / "plugin")
    file = folder / "experiment.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("  laptop: {}", "  # no laptop"), encoding="utf-8")
    found = [each for each in measured(folder) if isinstance(each, Outcome)]
    assert not [each for each in found if each.problem or each.skipped]
    assert Outcome("experiment.yaml at smoke, depth=1", "gradients reach every parameter") in found


def test_an_objective_outside_the_repository_gives_a_table(
    call: Call, done: tuple[Path, Run], tmp_path: Path
) -> None:
    lend(done[1].folder, tmp_path, SHARED[:2])
    computed(SHUFFLED / "experiment.yaml", tmp_path, *FEW)
    assert "shuffled token detection" in call("report", tmp_path, "--format", "markdown").out


def test_a_corpus_outside_the_repository_is_read(call: Call, tmp_path: Path) -> None:
    computed(REFERENCE / "experiment.yaml", tmp_path, *FEW[1:])
    assert "dynamic" in call("report", tmp_path, "--format", "markdown").out


def test_bert_of_transformers_gives_a_table_that_says_how_it_was_counted(
    call: Call, done: tuple[Path, Run], tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    planned = call("plan", BERT / "experiment.yaml", *SMOKE)
    assert planned.code == 0, planned.err
    assert "counted on the built module" in " ".join(planned.out.split())
    described = call("describe", BERT / "experiment.yaml", *SMOKE)
    assert (described.code, described.err) == (0, "")
    assert "receptive field" not in described.out
    lend(done[1].folder, tmp_path, SHARED[:2])
    computed(BERT / "experiment.yaml", tmp_path, *FEW)
    table = call("report", tmp_path, "--format", "markdown").out
    assert "baseline, depth=1, heads=2: parameters and FLOPs counted on the built module" in table
    refused = call("export", tmp_path, tmp_path / "exported", "--trial", "baseline/1")
    assert refused.code == 3
    assert "baseline/1: its architecture is of kind module" in refused.err


def test_plan_imports_no_torch_for_a_plugin(call: Call, tmp_path: Path) -> None:
    folder = copy_of_example(tmp_path / "example")
    (folder / MODULE).write_text("raise SystemExit('imported')\n\nBranch = None\n", encoding="utf-8")
    planned = call("plan", folder / "experiment.yaml", *SMOKE)
    assert planned.code == 0, planned.err
    assert "gated_dilated (kernel_size 5, dilation 4)" in planned.out


def test_the_run_has_its_table_and_a_copy_of_the_plugin(done: tuple[Path, Run]) -> None:
    folder, made = done
    assert b"gated_wide" in made.table
    assert stages_told(made.told) == 5 + 5 * 2
    assert not list((made.folder / "stages" / "unfinished").iterdir())
    for name in ("report.html", "report.json", "report.md", "report.tex"):
        assert (made.folder / name).stat().st_size > 0
    (copy,) = (made.folder / COPIES).iterdir()
    for place in (OPTION, MODULE):
        assert (copy / place).read_bytes() == (folder / place).read_bytes()


def test_a_report_needs_the_results_alone_and_a_changed_plugin_is_another_experiment(
    call: Call, done: tuple[Path, Run], tmp_path: Path
) -> None:
    folder, made = done
    moved = shutil.move(folder, tmp_path / "moved")
    again = ("run", tmp_path / "moved/experiment.yaml", *SMALL, "--out", made.folder)
    try:
        with no_plugins_left():
            shown = call("report", made.folder)
            assert (shown.code, shown.err) == (0, "")
            assert "gated_wide" in shown.out
            table, cached = made.table, call(*again)
            assert (cached.code, stages_told(cached.err), made.table) == (0, 0, table)
            replaced(tmp_path / "moved", "return 4 * shape.inner_width", "return 5 * shape.inner_width")
            published = call("publish", made.folder, tmp_path / "published")
            assert published.code == 0, published.err
            rebuilt = call("rebuild", tmp_path / "published", "--check")
            assert (rebuilt.code, rebuilt.err) == (0, "")
        refused = call(*again)
        assert refused.code == 6
        changed = tmp_path / "moved/search_space/convolution/gated_dilated.py"
        assert f"the code of the plugin has changed: {changed};" in refused.err
    finally:
        replaced(tmp_path / "moved", "return 5 * shape.inner_width", "return 4 * shape.inner_width")
        shutil.move(moved, folder)
