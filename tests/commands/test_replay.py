"""`steeplechase replay`: the JSON other programs read, and the refusals."""

import json
from pathlib import Path

import pytest

from runners.replay.curves import plain
from runners.replay.settings import RECOMMENDED, SEARCHES
from tests.factories.command_calls import ROOT, Call
from tests.factories.import_check import HEAVY, imported_after
from tests.factories.synthetic_curves import synthetic


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "curves.jsonl"
    path.write_text(plain.written(synthetic("power_laws", 1, candidates=30, points=9)))
    return path


@pytest.mark.parametrize("search", sorted(SEARCHES))
def test_the_json_of_every_search(call: Call, curves: Path, search: str) -> None:
    answer = call("replay", curves, "--search", search, "--budget", "3", "--seeds", "4", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert (found["search"], found["budget"], found["seeds"]) == (search, 3, 4)
    regret = found["normalised_regret"]
    assert 0.0 <= regret["low"] <= regret["mean"] <= regret["high"]
    assert len(found["per_seed"]) == 4
    assert found["tasks"][0]["spent"] <= 3.0 + 1e-6


def test_the_list_names_what_is_recommended(call: Call) -> None:
    found = json.loads(call("replay", "--search", "list", "--json").out)
    assert found == {"searches": [*SEARCHES], "recommended": RECOMMENDED}
    assert f"{RECOMMENDED} (recommended)" in call("replay", "--search", "list").out


def test_people_get_the_same_numbers(call: Call, curves: Path) -> None:
    arguments = ("replay", curves, "--search", "asha", "--budget", "2", "--seeds", "3")
    mean = json.loads(call(*arguments, "--json").out)["normalised_regret"]["mean"]
    assert f"normalised regret {mean:.3f} [" in call(*arguments).out


def test_refusals_are_one_line_with_their_exit_code(call: Call, curves: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.jsonl").write_text("nothing")
    cases = [
        ((curves, "--search", "ahsa"), 3, "Did you mean asha?"),
        ((curves, "--budget", "0"), 3, "--budget: 0 is out of range"),
        ((curves, "--budget", "nan"), 3, "--budget: nan is out of range"),
        ((tmp_path / "wrong.jsonl",), 4, "wrong.jsonl:1: not JSON"),
        ((tmp_path / "nowhere",), 5, "no such file or folder"),
        ((), 3, "CURVES is missing"),
        ((curves, "--decisions"), 5, "a file; give a results folder"),
        ((curves, "--decisions", "--search", "ahsa", "--seeds", "3"), 3, "leave --search, --seeds out"),
        ((ROOT / "reports/published/pre_ln_warmup-laptop", "--decisions"), 4, "its design is no search"),
    ]
    for arguments, code, said in cases:
        answer = call("replay", *arguments)
        assert (answer.code, answer.err.count("\n")) == (code, 1), answer.err
        assert said in answer.err


def test_the_published_search_takes_its_decisions_again(call: Call) -> None:
    answer = call("replay", ROOT / "reports/published/search-laptop", "--decisions", "--json")
    assert json.loads(answer.out) == {"search": "search", "candidates": 21, "decisions": 38}, answer.err


def test_replay_imports_nothing_heavy(curves: Path) -> None:
    ((code, imported),) = imported_after(("replay", curves, "--budget", "1", "--seeds", "1"))
    assert (code, imported & {*HEAVY}) == (0, set())
