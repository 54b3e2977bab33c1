"""Published reports: what a ledger says its export says, byte for byte, and what was published is built again."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from reports.paper_claims import claim_rows, markdown
from reports.paper_claims_file import FILE
from reports.report import build
from reports.write import REPORT_FILES, write_report
from steeplechase.ledger.snapshot import snapshot_at
from tests.factories.command_calls import ROOT, Answer, Call

PUBLISHED = ROOT / "reports" / "published"


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_command_writes_what_the_ledgers_export_gives(
    call: Call, results: Path, published: Path, tmp_path: Path
) -> None:
    assert call("publish", results, tmp_path / "kept") == Answer(0, f"published: {tmp_path / 'kept'}\n", "")
    assert bytes_of(tmp_path / "kept") == bytes_of(published)
    assert call("report", published, "--all") == call("report", results, "--all")


def test_published_reports_are_rebuilt_byte_for_byte(call: Call, published: Path) -> None:
    before = bytes_of(published)
    assert {"report.md", "report.yaml", "figures/curves.svg", "ledger/records.csv"} < set(before)
    for name in before:
        if not name.startswith("ledger"):
            (published / name).unlink()
    (published / "tables").mkdir()
    for earlier in ("figures/old.svg", "figures/curves.pdf", "tables/effects.csv", "report.html", "report.csv"):
        (published / earlier).write_text("of a whole report of an earlier version")
    (published.with_name("without-rows")).mkdir()
    answer = call("rebuild", published.parent)
    assert answer.out.splitlines()[1:] == [
        f"{published.with_name('without-rows')}: unchanged; it has no rows to build from"
    ]
    assert (answer.code, bytes_of(published)) == (0, before)
    assert not (published / "tables").exists()
    answer = call("rebuild", published, "--check")
    assert (answer.code, answer.out) == (0, f"{published}: the same, byte for byte\n")


def test_a_manually_changed_file_is_reported_and_rebuilt(call: Call, published: Path) -> None:
    right = (published / "report.md").read_text()
    (published / "report.md").write_text(right.replace("6.0", "5.0"))
    (published / "figures" / "old.svg").write_text("of a figure that is no more")
    (published / "report.yaml").unlink()
    before = bytes_of(published)
    answer = call("rebuild", published, "--check")
    assert answer.out == f"{published}: 3 files not as its rows give\n"
    names = ("figures/old.svg", "report.md", "report.yaml")
    assert answer.err.splitlines() == [
        *(f"{published / name}: differs from what its rows give" for name in names),
        f"`steeplechase rebuild {published}` writes what the rows give",
    ]
    assert (answer.code, bytes_of(published)) == (6, before)
    assert call("rebuild", published).out == f"{published}: 3 files changed\n"
    assert (published / "report.md").read_text() == right


def test_whole_reports_are_written_elsewhere_and_twice_the_same(
    call: Call, results: Path, published: Path, tmp_path: Path
) -> None:
    whole, before = tmp_path / "whole", bytes_of(published)
    (tmp_path / "of_the_results").mkdir()
    write_report(build(snapshot_at(results)), tmp_path / "of_the_results")
    for _ in range(2):
        assert call("rebuild", published, "--all-formats", whole).code == 0
        assert bytes_of(whole / published.name) == bytes_of(tmp_path / "of_the_results")
    assert bytes_of(published) == before
    written = bytes_of(whole / published.name).keys()
    assert {*REPORT_FILES.values(), "tables/effects.csv", "figures/curves.pdf"} < written


def test_rows_that_were_changed_by_hand_are_refused(call: Call, published: Path) -> None:
    rows = published / "ledger" / "records.csv"
    rows.write_text(rows.read_text().replace("6.0", "5.0", 1))
    answer = call("rebuild", published)
    assert (answer.code, answer.out) == (7, "")
    assert answer.err.startswith(f"{rows}: differs from the exported file")


def test_a_folder_without_rows_is_an_error_with_a_suggestion(call: Call, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    answer = call("rebuild", tmp_path / "old")
    assert (answer.code, "steeplechase publish" in answer.err) == (5, True)
    assert call("rebuild", tmp_path / "nowhere").code == 5
    assert call("publish", tmp_path / "old", tmp_path / "new").code == 5
    assert not (tmp_path / "new").exists()


def test_what_needs_stages_says_that_a_published_report_has_none(call: Call, tmp_path: Path) -> None:
    report = PUBLISHED / "table2-laptop"
    (tmp_path / "lines.txt").write_text("a text\n")
    for command in (
        ("export", report, tmp_path / "out"),
        ("generate", report, "--input", tmp_path / "lines.txt"),
        ("submission", report, tmp_path / "out.zip", "--trial", "baseline/1"),
        ("ui", report),
    ):
        answer = call(*command)
        assert (answer.code, answer.out) == (5, "")
        message = "a published report, with its rows and without stages; give the results of its run"
        assert answer.err == f"{report}: {message}\n"


def test_a_results_folder_is_not_published_into_itself(call: Call, results: Path) -> None:
    assert call("publish", results, results).code == 6


@pytest.mark.parametrize("name", ["notes.txt", "report.md", "ledger.sqlite", "figures/own.svg"])
def test_nothing_is_published_among_files_of_others(call: Call, results: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("of others")
    answer = call("publish", results, tmp_path)
    assert answer.code == 6
    assert answer.err.startswith(f"{tmp_path}: is no published report, and has {name.partition('/')[0]}; nothing was")
    assert bytes_of(tmp_path) == {name: b"of others"}


def test_a_publication_is_replaced_by_one_of_its_experiment_alone(call: Call, results: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / ".gitignore").touch()
    assert call("publish", results, kept).code == 0
    (kept / "report.md").unlink()
    (kept / "notes.txt").write_text("beside a publication")
    assert call("publish", results, kept).code == 0
    (tmp_path / "other").mkdir()
    shutil.copytree(PUBLISHED / "table9-laptop" / "ledger", tmp_path / "other" / "ledger")
    before = bytes_of(tmp_path / "other")
    answer = call("publish", results, tmp_path / "other")
    assert answer.code == 6
    assert "is a published report of table9 at scale laptop and not table2 at scale smoke; nothing" in answer.err
    assert bytes_of(tmp_path / "other") == before


def test_the_claims_of_a_folder_are_printed(call: Call, tmp_path: Path) -> None:
    claim = 'id = "A"\nstatement = "Wider is better."\nsource = "a paper"\nuntested = "no data"\n'
    (tmp_path / FILE).write_text(f"[[claims]]\n{claim}", encoding="utf-8")
    answer = call("claims", tmp_path)
    assert answer == Answer(0, markdown(tmp_path, claim_rows(tmp_path, ROOT / "experiments")), "")
    assert "no data" in answer.out


def test_a_folder_without_claims_is_refused_in_a_line(call: Call, tmp_path: Path) -> None:
    answer = call("claims", tmp_path)
    assert answer.code == 5
    assert answer.out == ""
    assert answer.err.splitlines() == [
        f"{tmp_path / 'claims.toml'}: no such file; it declares the claims and what tests them"
    ]


def test_a_full_disk_is_told_with_the_folder_and_its_free_space(
    call: Call, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        answer = call("publish", results, tmp_path / "out")
    assert (answer.code, answer.out) == (5, "")
    assert answer.err.startswith(f"{tmp_path / 'out'}")
    assert "No space left on device: " in answer.err
    assert call("publish", results, tmp_path / "out").code == 0
