"""Folders and files as they are found: read-only, of others, linked elsewhere, of the wrong kind, emptied."""

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from reports.write import FIGURES
from steeplechase.ledger.database import LEDGER_NAME
from steeplechase.ledger.paths import EXPORT_FOLDER, LOCK, STAGES, ResultPaths
from tests.factories.command_calls import MAIN, ROOT, TABLE, Call, listed

PRECIOUS = "what somebody else has written\n"
RUN = ("run", TABLE, "--scale", "smoke", "--out")


@pytest.fixture(autouse=True)
def at_most_a_minute() -> Iterator[None]:
    """Fail where a command waits for ever for the other end of a pipe."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("still waiting after a minute")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


# ResultPaths of the wrong kind


def too_long(folder: Path) -> Path:
    return folder / ("x" * 300)


def loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


def below_a_file(folder: Path) -> Path:
    (folder / "file").write_text(PRECIOUS)
    return folder / "file" / "below"


def holding(name: str, make: Callable[[Path], None]) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        path = folder / "kept" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
        return folder / "kept"

    return made


def to_a_file(path: Path) -> None:
    target = path.parents[1] / "precious.txt"
    target.write_text(PRECIOUS)
    path.symlink_to(target)


def to_a_folder(path: Path) -> None:
    target = path.parents[1] / "precious"
    target.mkdir()
    (target / "picture.svg").write_text(PRECIOUS)
    path.symlink_to(target)


def to_nothing(path: Path) -> None:
    path.symlink_to(path.parents[1] / "nothing")


KINDS: dict[str, Callable[[Path], None]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "link to a file": to_a_file,
    "link to nothing": to_nothing,
}
FOR_BOTH = {"a name too long": too_long, "a loop of links": loop, "below a file": below_a_file} | {
    f"{LEDGER_NAME} a {kind}": holding(LEDGER_NAME, KINDS[kind]) for kind in ("folder", "pipe")
}
FOR_RUN = {f"{LEDGER_NAME} a {kind}": holding(LEDGER_NAME, make) for kind, make in KINDS.items()} | {
    f"{LOCK} a link to a file": holding(LOCK, to_a_file),
    f"{STAGES} a link": holding(STAGES, to_a_folder),
    f"{LEDGER_NAME}-wal a link": holding(f"{LEDGER_NAME}-wal", to_a_folder),
    "report.html a folder": holding("report.html", Path.mkdir),
    f"{FIGURES} a link": holding(FIGURES, to_a_folder),
    f"{FIGURES} a file": holding(FIGURES, Path.touch),
}


@pytest.mark.parametrize(
    ("command", "place"),
    [*(("run", name) for name in FOR_BOTH | FOR_RUN), *(("report", name) for name in FOR_BOTH)],
)
def test_an_unusable_path_is_an_error_in_one_line_and_unchanged(
    call: Call, tmp_path: Path, command: str, place: str
) -> None:
    folder = (FOR_BOTH | FOR_RUN)[place](tmp_path)
    before = listed(tmp_path)
    answer = call(*RUN, folder) if command == "run" else call("report", folder)
    assert (answer.code, answer.out, answer.err.count("\n")) == (5, "", 1), answer
    assert answer.err.startswith(str(folder))
    after = listed(tmp_path)
    after.pop(f"kept/{LOCK}", None) if f"kept/{LOCK}" not in before else None  # a run's own, where it got that far
    assert after == before


@pytest.mark.parametrize("kind", ["a link", "a folder"])
def test_a_link_at_the_temporary_name_is_not_followed(
    call: Call, results: Path, published: Path, tmp_path: Path, kind: str
) -> None:
    kept, before = published, listed(published)
    (tmp_path / "precious.txt").write_text(PRECIOUS)
    files = [kept / name for name in ("report.md", "figures/curves.svg", f"{EXPORT_FOLDER}/records.csv")]
    for file in files:
        file.unlink()
        beside = file.with_name(f".{file.name}.writing")
        beside.symlink_to(tmp_path / "precious.txt") if kind == "a link" else beside.mkdir()
    answer = call("publish", results, kept)
    assert (tmp_path / "precious.txt").read_text() == PRECIOUS
    if kind == "a link":
        assert answer.code == 0
        assert listed(kept) == before
    else:
        assert (answer.code, answer.err.count("\n")) == (5, 1), answer


def test_an_export_is_not_written_into_a_folder_elsewhere(call: Call, results: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "records.csv").write_text(PRECIOUS)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / EXPORT_FOLDER).symlink_to(tmp_path / "precious")
    answer = call("publish", results, tmp_path / "kept")
    assert (answer.code, answer.err.count("\n")) == (5, 1), answer
    assert listed(tmp_path / "precious") == {"records.csv": PRECIOUS.encode()}


def test_a_full_disk_while_printing_a_report_is_an_error(results: Path) -> None:
    with Path("/dev/full").open("w") as full:
        command = [*MAIN, "report", str(results)]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (5, "the output, or a file without a name: No space left on device\n")


# Pipes where a file is wanted


def test_every_pipe_in_a_hugging_face_folder_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    names = ("config.json", "tokenizer_config.json", "vocab.txt")
    for name in names:
        os.mkfifo(tmp_path / "model" / name)
    answer = call("import", tmp_path / "model", tmp_path / "out")
    assert answer.code == 4
    for name in names:
        assert f"{tmp_path / 'model' / name}: not a regular file but a pipe" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("replay", "PIPE"), 5),
        (("score", "cola", "--data", "PIPE", "--predictions", "PIPE"), 4),
        (("plan", "PIPE"), 5),
    ],
)
def test_a_pipe_for_a_file_is_refused(call: Call, tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    os.mkfifo(tmp_path / "pipe")
    answer = call(*(tmp_path / "pipe" if argument == "PIPE" else argument for argument in arguments))
    assert (answer.code, answer.out) == (code, "")
    assert str(tmp_path / "pipe") in answer.err


# Names and ledgers that are empty


def test_an_empty_name_is_no_folder(call: Call) -> None:
    for arguments in ((*RUN, ""), ("report", ""), ("publish", "results", ""), ("import", "", "out")):
        answer = call(*arguments)
        assert (answer.code, answer.out) == (2, "")
        assert "the name is empty; write . for the current" in answer.err


@pytest.mark.parametrize("remains", ["report.html", "stages/pretrain/key/manifest.json"])
def test_an_emptied_ledger_beside_results_is_never_begun_anew(call: Call, tmp_path: Path, remains: str) -> None:
    (tmp_path / remains).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / remains).write_text(PRECIOUS)
    (tmp_path / LEDGER_NAME).write_bytes(b"")
    before = listed(tmp_path)
    answer = call(*RUN, tmp_path)
    assert (answer.code, answer.err.count("\n")) == (7, 1), answer
    assert f"{tmp_path / LEDGER_NAME}: is empty, but {Path(remains).parts[0]}" in answer.err
    assert listed(tmp_path) == before


def test_results_without_their_ledger_give_a_warning(call: Call, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(PRECIOUS)
    with ResultPaths.of(tmp_path).locked():  # the run ends here, before it computes anything
        answer = call(*RUN, tmp_path)
    assert answer.code == 6
    assert f"warning: {tmp_path}: has report.html, but no {LEDGER_NAME}; a new ledger is created" in answer.err


def test_a_published_report_is_no_place_for_a_run(call: Call, published: Path, tmp_path: Path) -> None:
    before = listed(tmp_path)
    answer = call(*RUN, published)
    assert answer.code == 6
    assert "holds a published report" in answer.err
    assert listed(tmp_path) == before


@pytest.mark.parametrize("precious", ["tables/measured.csv", "report.tex"])
def test_files_of_others_are_not_replaced_by_a_report(
    call: Call, results: Path, tmp_path: Path, precious: str
) -> None:
    (tmp_path / precious).parent.mkdir(exist_ok=True)
    (tmp_path / precious).write_text(PRECIOUS)
    before = listed(tmp_path)
    for arguments in ((*RUN, tmp_path), ("publish", results, tmp_path)):
        answer = call(*arguments)
        assert (answer.code, answer.err.count("\n")) == (6, 1), answer
        assert answer.err.startswith(f"{tmp_path}: ")
        assert precious.partition("/")[0] in answer.err
        assert listed(tmp_path) == before


def test_documents_are_utf_8_in_every_locale(results: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    script = f"""
import sys
from steeplechase.commands.main import main
sys.argv = ["steeplechase", "report", {str(results)!r}, "--format", "latex"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env={**os.environ, **plain}, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "§" in done.stdout.decode("utf-8")


EXPERIMENT = """
experiment: hostile
question: Does it run?
baseline:
  architecture: { kind: module, factory: "FACTORY", arguments: { command: "touch CANARY" }, width: 32 }
  objective: masked_language_model
  recipe: { sequence_length: 32, batch_sequences: 8, schedule: { kind: linear, warmup_tokens: 1000 } }
design: { kind: one_factor, vary: { recipe.peak_learning_rate: [1e-3] } }
pretraining: { tokens: 8000, seeds: [1], held_out_sequences: 16, evaluations: 2 }
"""


@pytest.mark.parametrize("command", ["plan", "describe", "run"])
def test_commands_refuse_a_file_that_names_a_shell(call: Call, command: str, tmp_path: Path) -> None:
    file, canary = tmp_path / "hostile.yaml", tmp_path / "canary"
    text = EXPERIMENT.replace("CANARY", str(canary)).replace("FACTORY", "os:system")
    file.write_text(text, encoding="utf-8")
    out = ("--out", tmp_path / "results") if command == "run" else ()
    refused = call(command, file, *out)
    assert (refused.code, refused.out) == (3, "")
    assert refused.err == (
        f"{file}:5: baseline.architecture.factory: os:system: os is of the standard library; "
        "a factory is of a plugin that the file lists\n"
    )
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("reader", ["curves", "predictions"])
def test_the_files_that_make_faults_spoils_are_read_as_they_are(call: Call, reader: str, tmp_path: Path) -> None:
    """Of a file that is refused already, no command would reach what is spoilt."""
    values = json.loads((ROOT / "tools" / "faults" / "values.json").read_text())
    for name, lines in values["files"][reader].items():
        content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()
        for ending, packed in (("", content), (".gz", gzip.compress(content)), (".xz", lzma.compress(content))):
            (tmp_path / f"{name}{ending}").write_bytes(packed)
    for template in values["commands"][reader][1:]:
        answer = call(*template.replace("CASE", str(tmp_path)).split())
        assert answer.code == 0, (template, answer.err)
