"""Stage keys are data: those of every published report and of every experiment at its smallest scale are golden.

A finished stage is found by its key, so that a key that changes computes the stage again. What belongs to a key and
differs between machines is fixed here: versions of libraries, operators, the installed documentation and the machine
of latencies.
`STEEPLECHASE_GOLDEN=write` writes the file anew.
"""

import csv
import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

from reports.statistics.experiment import experiment_of
from runners.computing import execute
from runners.dag import shared_stages, trial_stages
from runners.stages import stage
from runners.stages.latency import LatencyStage
from runners.stages.stage import Stage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import experiment_in
from steeplechase.configuration.yaml import read_file
from steeplechase.foundation import devices
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.errors import DataError
from steeplechase.ledger.csv_export import read_export
from steeplechase.ledger.paths import has_export
from steeplechase.ledger.snapshot import snapshot
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from tests.factories.latencies import MACHINE
from tests.factories.paths import EXPERIMENT_FILES, EXPERIMENTS, PUBLISHED, ROOT

GOLDEN = Path(__file__).parent / "golden" / "stage_keys.csv"
WRITE = os.environ.get("STEEPLECHASE_GOLDEN") == "write"
FOLDERS = sorted(folder.name for folder in PUBLISHED.iterdir() if has_export(folder))

Digests = dict[str, str]
"""From the kind of stage to the number of its stages and a hash of their labels and keys."""
Trial = tuple[str, Candidate, int]
"""The name of an arm, its candidate, and a pretraining seed."""


def digests(experiment: Experiment, trials: Iterable[Trial]) -> Digests:
    by_kind: dict[str, set[str]] = defaultdict(set)
    for label, found in labelled(experiment, trials):
        by_kind[found.kind].add(f"{label} {found.key}\n")
    return {kind: f"{len(lines)}:{digest(lines)}" for kind, lines in by_kind.items()}


def digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()[:16]


def labelled(experiment: Experiment, trials: Iterable[Trial]) -> Iterator[tuple[str, Stage]]:
    if experiment.measure.latency is not None:
        yield from LatencyStage.by_label(experiment, MACHINE).items()
    shared = shared_stages(experiment)
    yield from shared.by_label.items()
    for arm, candidate, seed in trials:
        for label, found in trial_stages(experiment, shared, candidate, seed).items():
            yield f"{arm}/{seed} {label}", found


def of_folder(name: str) -> Digests:
    read = snapshot(read_export(PUBLISHED / name))
    candidates = {arm.name: arm.candidate for arm in read.arms}
    trials = [history.trial for history in read.histories]
    return digests(experiment_of(read.document), [(row.arm, candidates[row.arm], row.seed) for row in trials])


def of_file(name: str) -> Digests:
    file = read_file(EXPERIMENTS / name)
    scale = "smoke" if "smoke" in file.scales else next(iter(file.scales), None)
    experiment = experiment_in(file, scale)
    arms = experiment.arms if experiment.has_trials else ()
    return digests(experiment, [(arm.name, arm.candidate, 1) for arm in arms])


@cache
def golden() -> dict[str, Digests]:
    found: dict[str, Digests] = defaultdict(dict)
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["experiment"]][row["stage"]] = row["keys"]
    return found


@pytest.fixture(autouse=True)
def one_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "installed_version", lambda library: "1")
    monkeypatch.setattr(stage, "arithmetic", lambda: "1")
    monkeypatch.setattr(DocumentationCorpus, "inputs", canonical)
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", [*FOLDERS, *EXPERIMENT_FILES])
def test_the_keys_are_the_golden_ones(name: str) -> None:
    try:
        found = of_folder(name) if name in FOLDERS else of_file(name)
    except DataError as missing:
        pytest.skip(str(missing))
    if WRITE:
        rows = golden() | {name: found} if GOLDEN.is_file() else {name: found}
        golden.cache_clear()
        lines = [f"{each},{kind},{keys}" for each in sorted(rows) for kind, keys in sorted(rows[each].items())]
        GOLDEN.write_text("\n".join(["experiment,stage,keys", *lines, ""]), encoding="utf-8")
    assert found == golden()[name]


def test_results_are_deterministic_and_new_memory_is_not_filled() -> None:
    """torch's deterministic mode would fill every new tensor, which is a kernel each and is never read."""
    torch.utils.deterministic.fill_uninitialized_memory = True
    execute._set_numerics("float32", deterministic=True)
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()  # with which attention would not be
    assert not torch.utils.deterministic.fill_uninitialized_memory
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_worker_with_a_share_of_a_card_takes_no_more_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """And tensor cores are used where the recipe says so."""
    shares = list[float]()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", shares.append)
    for told in ("0.25", None):
        monkeypatch.setenv(devices.SHARE, told) if told else monkeypatch.delenv(devices.SHARE)
        execute._set_numerics("tensorfloat32", deterministic=False)
        assert torch.get_float32_matmul_precision() == "high"
        assert not torch.are_deterministic_algorithms_enabled()
    execute._set_numerics("float32", deterministic=True)
    assert shares == [0.25]
