"""Failures of each command: an exit code, one line per mistake, no traceback, and no files."""

import re
import tempfile
from pathlib import Path

import pytest

from steeplechase.commands import main
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.database import LEDGER_NAME
from tests.factories.command_calls import TABLE, Answer, Call
from tests.factories.local_models import experiment, run

MISTAKES = """\
experiment: mistaken
question: What is wrong here?
baseline: { architecture: { depth: 1, width: 32, heads: 3 } }
desing: { kind: list, arms: { a: { bottleneck_ratio: 2 } } }
design: { kind: list, arms: { a: { convolution: { kind: dynamic, kernel_size: 8 } } } }
pretraining: { tokens: 1000, seeds: [1, 1] }
"""


def refused(answer: Answer, code: int, *words: str) -> None:
    assert answer.code == code, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    for word in words:
        assert word in answer.err


def test_a_wrong_file_is_reported_by_line_and_nothing_is_written(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "mistaken.yaml"
    file.write_text(MISTAKES)
    for command in (("plan",), ("run", "--out", tmp_path / "results")):
        answer = call(command[0], file, *command[1:])
        refused(answer, 3, f"{file}:4", "Did you mean 'design'?")
        assert all(re.match(rf"{re.escape(str(file))}:\d+: ", line) for line in answer.err.splitlines())
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("plan",), 2, ["EXPERIMENT"]),
        (("run", TABLE, "--workers", "0"), 2, ["--workers"]),
        (("run", TABLE, "--engine", "slurm"), 2, ["slurm"]),
        (("run", TABLE, "--address", "localhost:1"), 2, ["--address", "--engine"]),
        (("plan", "an\x1b[31m.yaml"), 3, [r"an\x1b[31m.yaml: No such file"]),
        (("plan", TABLE, "--scale", "huge"), 3, ["huge", "paper", "laptop", "demo", "smoke"]),
        (("plan", "experiments/nothing.yaml"), 3, ["experiments/nothing.yaml"]),
        (("plan", TABLE.with_name("tabel2.yaml")), 3, ["tabel2.yaml: No such file", f"Did you mean {TABLE}?"]),
        (("report", "nowhere"), 5, ["nowhere", "steeplechase run"]),
        (("report", TABLE), 5, [f"{TABLE}: a file; give a results folder\n"]),
    ],
)
def test_every_kind_of_failure_has_its_exit_code(
    call: Call, arguments: tuple[str | Path, ...], code: int, words: list[str]
) -> None:
    refused(call(*arguments), code, *words)


def test_a_place_beside_the_results_is_refused_with_the_results_folder(
    call: Call, results: Path, tmp_path: Path
) -> None:
    for place in (results / LEDGER_NAME, results.parent):
        refused(call("report", place), 5, f"{place}: ", f"Did you mean {results}?")
    for name in ("fast-whole", "faster-whole"):
        (tmp_path / name).mkdir()
        (tmp_path / name / LEDGER_NAME).touch()
    refused(call("report", tmp_path / "fast"), 5, f"{tmp_path}/fast: ", f"Did you mean {tmp_path}/fast-whole?")


def test_an_unknown_format_is_an_error_with_the_known_ones(call: Call, results: Path) -> None:
    refused(call("report", results, "--format", "docx"), 3, "'docx' is not a format", "csv", "json", "latex")


def test_missing_text_is_a_data_error_and_nothing_is_written(call: Call, tmp_path: Path) -> None:
    text = TABLE.read_text().replace(
        "{ kind: documentation, maximum_megabytes: 2 }", "{ kind: text_files, path: nil }"
    )
    (tmp_path / "table.yaml").write_text(text)
    answer = call("run", tmp_path / "table.yaml", "--scale", "smoke", "--out", tmp_path / "results")
    line = text[: text.index("path: nil")].count("\n") + 1
    refused(answer, 4, f"table.yaml:{line}: corpus: ", "nil: no such file or folder")
    assert [path.name for path in tmp_path.iterdir()] == ["table.yaml"]


def test_a_column_that_a_table_lacks_is_named_with_the_line_of_the_experiment(call: Call, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("review,stars\ngood,1\nbad,0\n")
    own = "{ kind: table, train: reviews.csv, dev_share: 0.5, columns: { text: reviw, label: stars } }"
    text = f"""experiment: own
question: Does the table fit?
baseline: {{ architecture: {{ depth: 1, width: 32, embedding_width: 32, heads: 4, feed_forward_width: 64 }} }}
design: {{ kind: one_factor, vary: {{ depth: [2] }} }}
pretraining: {{ tokens: 1e5, seeds: [1] }}
fine_tuning:
  tasks: [reviews]
  own_tasks:
    reviews: {own}
"""
    (tmp_path / "own.yaml").write_text(text)
    answer = call("run", tmp_path / "own.yaml", "--out", tmp_path / "results")
    refused(
        answer, 4, "own.yaml:9: fine_tuning.own_tasks.reviews.columns.text: ", "'reviw'", "Did you mean 'review'?"
    )


def test_a_folder_of_another_experiment_is_a_conflict_that_names_what_differs(call: Call, results: Path) -> None:
    before = sorted(path.name for path in results.rglob("*"))
    answer = call("run", TABLE, "--scale", "demo", "--out", results)
    refused(
        answer,
        6,
        str(results),
        "pretraining.tokens: 20000 there, 1000000 here",
        f"To keep both, and compute nothing twice that is equal: steeplechase run {TABLE} --scale demo",
    )
    assert sorted(path.name for path in results.rglob("*")) == before


@pytest.mark.parametrize("command", ["report", "run"])
def test_a_damaged_ledger_is_corruption_and_unchanged(
    call: Call, results: Path, tmp_path: Path, command: str
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    content = bytearray((results / "ledger.sqlite").read_bytes())
    place = content.rindex(b"held_out_loss")
    content[place : place + 4] = b"HELD"
    ledger.write_bytes(content)
    arguments = ("report", tmp_path) if command == "report" else ("run", TABLE, "--scale", "smoke", "--out", tmp_path)
    refused(call(*arguments), 7, str(ledger), "checksum")
    assert ledger.read_bytes() == bytes(content)


def test_a_held_out_set_that_the_text_does_not_give_is_refused_with_the_number_that_it_gives(tmp_path: Path) -> None:
    pretraining = {"tokens": 512, "seeds": [1], "held_out_sequences": 1_000_000}
    with pytest.raises(DataError) as refusal:
        run(experiment(tmp_path, "masked_language_model", pretraining=pretraining), tmp_path / "results")
    found = re.fullmatch(
        r"pretraining\.held_out_sequences is 1000000, and the validation split has (\d+) sequences: "
        r"write at most (\d+), or give more text",
        str(refusal.value),
    )
    assert found is not None
    assert found[1] == found[2] != "0"


def test_a_defect_of_this_program_is_one_line_that_names_its_traceback(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def defective() -> None:
        raise TypeError("float +\n str")

    monkeypatch.setattr(main, "application", defective)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    answer = call("report")
    (file,) = tmp_path.iterdir()
    refused(
        answer, 1, f"TypeError: float + str; a defect of this program: please report it with its traceback, {file}"
    )
    assert len(answer.err.splitlines()) == 1
    assert "in defective" in file.read_text()
