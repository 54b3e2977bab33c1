"""A results folder of a stranger: reading it runs nothing of its plugin copies, and the report is the same."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import steeplechase
from runners.run import RunRequest, open_ledger
from runners.stage_labels import all_labels
from steeplechase.commands.arguments import choose
from steeplechase.commands.recorded_code import code_of, refuse_without_code
from steeplechase.configuration.plugin_folders import COPIES
from steeplechase.configuration.plugin_options import (
    OPTIONS,
    add_recorded_options,
    forget_recorded_options,
    recorded_flops,
    recorded_options,
)
from steeplechase.configuration.plugins import loaded_plugins
from steeplechase.foundation.canonical import canonical_text, fingerprint
from steeplechase.foundation.errors import ConflictError
from steeplechase.foundation.stand_ins import CodeNeeded
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.object_store import ObjectStore
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.snapshot import snapshot_at
from tests.factories.command_calls import Call, record
from tests.factories.first_cohort import declare_first_cohort
from tests.factories.latencies import experiment, latencies_in, snapshot_of
from tests.factories.plugins import MODULE, OPTION, copy_of_example, loaded, no_plugins_left

ARMED = """
from pathlib import Path

for _file in Path({canary!r}).parent.glob("armed"):
    Path({canary!r}).write_text("ran")
"""
SEARCH = """
design:
  kind: search
  space: { convolution: [none, gated_dilated], convolution.kernel_size: [3, 5] }
  max_candidates: 4
  cohort: 4
  sampler: random
"""
FORMATS = ("terminal", "markdown", "csv", "json", "latex", "html")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    with no_plugins_left():
        yield
    forget_recorded_options()


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the results of a search with a plugin, and its canary."""
    parent = tmp_path_factory.mktemp("foreign")
    plugin, folder, canary = copy_of_example(parent / "plugin"), parent / "results", parent / "canary"
    for place in (OPTION, MODULE):
        with (plugin / place).open("a", encoding="utf-8") as file:
            file.write(ARMED.format(canary=str(canary)))
    file = plugin / "experiment.yaml"
    text = file.read_text(encoding="utf-8")
    head, tail = text.partition("design:")[0], text.partition("pretraining:")[2]
    file.write_text(f"{head}{SEARCH}\npretraining:{tail}", encoding="utf-8")
    with no_plugins_left():
        chosen = choose(file, "smoke")
        with open_ledger(RunRequest(chosen.experiment, chosen.scale, ResultPaths.of(folder))) as ledger:
            declare_first_cohort(chosen.experiment, ArtifactStore(folder / "stages"), ledger)
            for number, trial in enumerate(ledger.trials()):
                for label in all_labels(chosen.experiment):
                    ledger.add_record(record(trial.name, label, number))
    shutil.rmtree(plugin)
    (parent / "armed").touch()
    return folder, canary


def test_no_reading_command_runs_a_plugin_copy(call: Call, foreign: tuple[Path, Path], tmp_path: Path) -> None:
    folder, canary = foreign
    (tmp_path / "texts").write_text("a text\n")
    commands = {
        ("report", folder): 0,
        ("compare", folder): 0,
        ("explore", folder, "--out", tmp_path / "page.html"): 0,
        ("pilot", folder): 4,
        ("publish", folder, tmp_path / "published"): 0,
        ("rebuild", tmp_path / "published", "--check"): 0,
        ("report", tmp_path / "published"): 0,
        ("replay", folder): 0,
        ("submission", folder, tmp_path / "files.zip", "--trial", "baseline/1"): 4,
        ("ui", folder): 5,
        ("search", "compare", folder): 0,
        ("search", "export", folder, tmp_path / "table.json"): 0,
        ("generate", folder, "--input", tmp_path / "texts"): 3,
        ("describe", folder): 5,
    }
    found = {command: call(*command) for command in commands}
    assert {command: answer.code for command, answer in found.items()} == commands
    assert len(steeplechase.load(folder).trials()) > 0
    assert not canary.exists()
    assert not loaded_plugins()
    (copied,) = (tmp_path / "published" / COPIES).iterdir()
    assert (copied / OPTION).read_bytes() == (folder / COPIES / copied.name / OPTION).read_bytes()


def test_no_reading_command_contacts_a_recorded_store(
    call: Call, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def contacted(self: ObjectStore, url: str) -> None:
        raise AssertionError(url)

    monkeypatch.setattr(ObjectStore, "__init__", contacted)
    folder = Path(shutil.copytree(results, tmp_path / "results"))
    (folder / "object_store").write_text("s3://somebody/objects\n")
    (tmp_path / "texts").write_text("a text\n")
    commands = (
        ("report", folder),
        ("report", folder, "--predictions"),
        ("compare", folder),
        ("explore", folder, "--out", tmp_path / "page.html"),
        ("pilot", folder),
        ("publish", folder, tmp_path / "published"),
        ("replay", folder),
        ("submission", folder, tmp_path / "files.zip", "--trial", "baseline/1"),
        ("export", folder, tmp_path / "model", "--trial", "baseline/1"),
        ("generate", folder, "--input", tmp_path / "texts"),
        ("search", "export", folder, tmp_path / "table.json"),
    )
    for command in commands:
        answer = call(*command)
        assert answer.code != 1, answer  # where a command would contact it


def test_a_report_is_the_same_with_and_without_the_code(call: Call, foreign: tuple[Path, Path]) -> None:
    folder, canary = foreign
    without = [call("report", folder, "--format", each).out for each in FORMATS]
    assert not canary.exists()
    (canary.parent / "armed").unlink()
    try:
        with code_of(folder, trusted=True):
            assert loaded_plugins()
            assert [call("report", folder, "--format", each).out for each in FORMATS] == without
    finally:
        (canary.parent / "armed").touch()
        canary.unlink(missing_ok=True)
    assert "gated_dilated" in without[2] or "gated" in without[1]


def test_code_that_is_needed_is_named_and_run_only_when_it_is_trusted(foreign: tuple[Path, Path]) -> None:
    folder, canary = foreign
    found = snapshot_at(folder)
    architectures = [arm.candidate.architecture for arm in found.arms]
    gated = next(each for each in architectures if each.convolution.kind == "gated_dilated")
    (copied,) = (folder / COPIES).iterdir()
    with pytest.raises(ConflictError) as refused, code_of(folder, trusted=False):
        refuse_without_code(gated)
    (line,) = refused.value.lines
    assert line.startswith("gated_dilated: is of a plugin, whose code is not run to read results; --trust runs ")
    assert f"{copied / OPTION} (sha256 " in line
    assert f"{copied / MODULE} (sha256 " in line
    assert not canary.exists()
    with code_of(folder, trusted=True):
        assert canary.read_text() == "ran"
    canary.unlink()


def changed(folder: Path, name: str, content: object) -> None:
    """Change a fact of a ledger, with the checksum that it then has."""
    with closing(sqlite3.connect(folder / LEDGER_NAME)) as database, database:
        row = "SELECT sequence FROM facts WHERE name = ?"
        (sequence,) = database.execute(row, (name,)).fetchone()
        text = canonical_text(json.loads(json.dumps(content)))
        update = "UPDATE facts SET content = ?, checksum = ? WHERE name = ?"
        database.execute(update, (text, fingerprint([sequence, name, text]), name))


HOSTILE = {
    "a plugin without its hash": ("document", lambda plugin: [plugin["path"]]),
    "a hash that is a path": ("document", lambda plugin: [{**plugin, "sha256": f"../../{plugin['path']}"}]),
    "options of another form": (OPTIONS, lambda _: {"options": {"os": {"system": {"fields": {"__base__": 1}}}}}),
    "a field that is a method": (OPTIONS, lambda _: with_fields({"parameters": 1})),
    "a field of the class": (OPTIONS, lambda _: with_fields({"__module__": "os"})),
}


def with_fields(fields: dict[str, object]) -> dict[str, object]:
    option = {"fields": fields, "evaluation": None}
    return {"options": {"search_space.convolution": {"gated_dilated": option}}, "sublayers": {}, "tasks": {}}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_ledger_is_refused_and_runs_nothing(
    call: Call, foreign: tuple[Path, Path], what: str, tmp_path: Path
) -> None:
    folder, canary = foreign
    kept = Path(shutil.copytree(folder, tmp_path / "kept"))
    name, change = HOSTILE[what]
    with closing(Ledger.at(kept)) as ledger:
        document = dict(ledger.fact("document"))  # type: ignore[arg-type]
    (plugin,) = document["plugins"]  # type: ignore[misc]
    (copied,) = (kept / COPIES).iterdir()
    value = change({**plugin, "path": str(copied)})  # type: ignore[dict-item, no-untyped-call]
    changed(kept, name, {**document, "plugins": value} if name == "document" else value)
    answers = [call("report", kept), call("publish", kept, tmp_path / "published")]
    assert {each.code for each in answers} <= {0, 7}
    assert name != "document" or 7 in {each.code for each in answers}
    assert not canary.exists()
    assert not loaded_plugins()


def test_latencies_keep_the_flops_that_need_the_code(tmp_path: Path) -> None:
    plugin = copy_of_example(tmp_path / "plugin")
    arms = {"attention": {}, "gated": {"convolution": "gated_dilated"}}
    seconds = {length: dict.fromkeys(arms, (1.0, 2.0, 3.0)) for length in (8, 16)}
    with loaded(plugin):
        asked = experiment(arms)
        kept, found = recorded_options(asked), snapshot_of(seconds, asked)
        with_code = latencies_in(found).timed
    add_recorded_options(kept)
    recorded = latencies_in(replace(found, part_flops=recorded_flops(kept)))
    assert recorded.timed == with_code
    assert not loaded_plugins()
    with pytest.raises(CodeNeeded, match="gated_dilated: is of a plugin"):
        _ = latencies_in(found).timed
