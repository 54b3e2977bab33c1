"""`steeplechase claims`: the published table, and one line where there is nothing to print it from."""

from pathlib import Path

from tests.factories.command_calls import ROOT, Call

PUBLISHED = ROOT / "reports" / "published"


def test_the_published_table_is_printed(call: Call) -> None:
    answer = call("claims", PUBLISHED, "--experiments", ROOT / "experiments")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (PUBLISHED / "claims.md").read_text(encoding="utf-8")


def test_a_folder_without_claims_is_refused_in_a_line(call: Call, tmp_path: Path) -> None:
    answer = call("claims", tmp_path)
    assert answer.code == 5
    assert answer.out == ""
    assert answer.err.splitlines() == [
        f"{tmp_path / 'claims.toml'}: no such file; it declares the claims and what tests them"
    ]
