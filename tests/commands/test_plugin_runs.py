"""The example plugin from `check` to a table, on local workers and on Ray; its results outlive its folder."""

import shutil
from pathlib import Path

import pytest

from configuration.plugin_folders import COPIES
from tests.factories.command_line import ROOT, SHARED, Run, lend, stages_told, steeplechase
from tests.factories.plugins import MODULE, OPTION, copy_of_example, replaced

pytestmark = pytest.mark.engines
CONTRACTS = 9
BERT, REFERENCE, SHUFFLED = (
    ROOT / "examples" / name for name in ("transformers_bert", "reference_corpus", "shuffled_tokens")
)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """Return a copy of the example and its finished run."""
    folder = copy_of_example(tmp_path_factory.mktemp("plugins") / "example")
    out = folder.parent / "results"
    run = steeplechase("run", folder / "experiment.yaml", "--scale", "smoke", "--out", out)
    assert run.returncode == 0, run.stderr
    return folder, Run(out, run.stderr, 0.0)


def test_check_prints_a_line_per_contract_and_fails_for_a_broken_one(tmp_path: Path) -> None:
    folder = copy_of_example(tmp_path / "example")
    good = steeplechase("check", folder)
    assert (good.returncode, good.stderr) == (0, "")
    assert sum(line.startswith("holds") for line in good.stdout.splitlines()) == CONTRACTS
    assert replaced(folder, "return 4 * shape.inner_width", "return 42 * shape.inner_width // 10") == 1
    bad = steeplechase("check", folder)
    assert bad.returncode == 1
    (line,) = (line for line in bad.stdout.splitlines() if line.startswith("broken"))
    assert line == (
        "broken   gated_dilated: saved activations are those the built module keeps: "
        "saved values per token at width 32: declared 67, kept 64.0"
    )


def test_check_builds_the_factories_of_a_folders_experiments() -> None:
    pytest.importorskip("transformers")
    found = steeplechase("check", BERT)
    assert (found.returncode, found.stderr) == (0, "")
    assert "holds    experiment.yaml at smoke, depth=1: gradients reach every parameter" in found.stdout.splitlines()


def test_an_objective_outside_the_repository_gives_a_table(tmp_path: Path) -> None:
    done = steeplechase("run", SHUFFLED / "experiment.yaml", "--scale", "smoke", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "shuffled token detection" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_corpus_outside_the_repository_is_checked_and_read(tmp_path: Path) -> None:
    found = steeplechase("check", REFERENCE)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines()[-1] == "12 contracts hold, 0 are broken, 0 were skipped"
    done = steeplechase("run", REFERENCE / "experiment.yaml", "--scale", "smoke", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "dynamic" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_bert_of_transformers_gives_a_table_that_says_how_it_was_counted(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    planned = steeplechase("plan", BERT / "experiment.yaml", "--scale", "smoke")
    assert planned.returncode == 0, planned.stderr
    assert "counted on the built module" in " ".join(planned.stdout.split())
    described = steeplechase("describe", BERT / "experiment.yaml", "--scale", "smoke")
    assert (described.returncode, described.stderr) == (0, "")
    assert "receptive field" not in described.stdout
    done = steeplechase("run", BERT / "experiment.yaml", "--scale", "smoke", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "baseline, depth=1, heads=2: parameters and FLOPs counted on the built module" in table
    again = steeplechase("run", BERT / "experiment.yaml", "--scale", "smoke", "--out", tmp_path)
    assert (again.returncode, stages_told(again.stderr)) == (0, 0), again.stderr
    refused = steeplechase("export", tmp_path, tmp_path / "exported", "--trial", "baseline/1")
    assert refused.returncode == 3
    assert "baseline/1: its architecture is of kind module" in refused.stderr


def test_plan_imports_no_torch_for_a_plugin(tmp_path: Path) -> None:
    folder = copy_of_example(tmp_path / "example")
    (folder / MODULE).write_text("raise SystemExit('imported')\n", encoding="utf-8")
    planned = steeplechase("plan", folder / "experiment.yaml", "--scale", "smoke")
    assert planned.returncode == 0, planned.stderr
    assert "gated_dilated (kernel_size 5, dilation 4)" in planned.stdout


def test_the_run_has_its_table_and_a_copy_of_the_plugin(done: tuple[Path, Run]) -> None:
    folder, run = done
    assert b"gated_wide" in run.table
    (copy,) = (run.folder / COPIES).iterdir()
    for place in (OPTION, MODULE):
        assert (copy / place).read_bytes() == (folder / place).read_bytes()


def test_ray_gives_the_same_table(done: tuple[Path, Run], tmp_path: Path) -> None:
    folder, run = done
    lend(run.folder, tmp_path, SHARED)
    again = steeplechase(
        "run", folder / "experiment.yaml", "--scale", "smoke", "--out", tmp_path, "--engine", "ray", "--workers", "1"
    )
    assert again.returncode == 0, again.stderr
    assert stages_told(again.stderr) == 4 * 2
    assert Run(tmp_path, again.stderr, 0.0).table == run.table


def test_a_report_needs_the_results_alone_and_a_changed_plugin_is_another_experiment(
    done: tuple[Path, Run], tmp_path: Path
) -> None:
    folder, run = done
    moved = shutil.move(folder, tmp_path / "moved")
    try:
        shown = steeplechase("report", run.folder)
        assert (shown.returncode, shown.stderr) == (0, "")
        assert "gated_wide" in shown.stdout
        resumed = steeplechase("run", tmp_path / "moved/experiment.yaml", "--scale", "smoke", "--out", run.folder)
        assert (resumed.returncode, stages_told(resumed.stderr)) == (0, 0), resumed.stderr
        replaced(tmp_path / "moved", "return 4 * shape.inner_width", "return 5 * shape.inner_width")
        published = steeplechase("publish", run.folder, tmp_path / "published")
        assert published.returncode == 0, published.stderr
        rebuilt = steeplechase("rebuild", tmp_path / "published", "--check")
        assert (rebuilt.returncode, rebuilt.stderr) == (0, "")
        refused = steeplechase("run", tmp_path / "moved/experiment.yaml", "--scale", "smoke", "--out", run.folder)
        assert refused.returncode == 6
        assert "search_space.convolution.gated_dilated" in refused.stderr
    finally:
        replaced(tmp_path / "moved", "return 5 * shape.inner_width", "return 4 * shape.inner_width")
        shutil.move(moved, folder)
