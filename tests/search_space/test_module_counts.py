"""A factory or a contract that never ends is ended, with one line that names it."""

import sys
from pathlib import Path

import pytest

from search_space import module_counts
from search_space.module_counts import ModuleFault
from steeplechase.commands import check
from steeplechase.foundation.child_process import module_command

SLEEPS = (sys.executable, "-S", "-c", "import time; time.sleep(600)")


def _sleeping(module: str, *_: str) -> list[str]:
    assert module_command(module)
    return [*SLEEPS]


def test_a_factory_that_never_ends_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_counts, "_CHILD", [])
    monkeypatch.setattr(module_counts, "LONGEST_SECONDS", 0.2)
    monkeypatch.setattr(module_counts, "module_command", _sleeping)
    with pytest.raises(ModuleFault, match=r"own:make: not built and counted in 0\.2 s; its code may not end"):
        module_counts._asked({"factory": "own:make", "architecture": "{}", "length": 8})


def test_a_contract_that_never_ends_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LONGEST_SECONDS", 0.2)
    monkeypatch.setattr(check, "module_command", _sleeping)
    (outcome,) = check.measured_apart(tmp_path)
    assert (outcome.contract, outcome.problem) == (
        "each contract ends in time",
        "had not ended after 0.2 s; the rest is not measured",
    )
