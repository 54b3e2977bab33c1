"""Regrets of searches on recorded curves, relative to random whole trainings, as the page docs/replay.md.

Usage: python -m benchmarks.replays CURVES ROWS.json > docs/replay.md

The project's own curves are in the repository. CURVES has a folder per other family, with files that `replay` reads;
FAMILIES says where they are from. Rows that are in ROWS.json are not measured again.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runners.replay.curves.own_ledger import points_of
from runners.replay.curves.reading import read_curves
from runners.replay.curves.recorded import RecordedCurves, recorded
from runners.replay.replay import CurveTask, regrets
from runners.replay.settings import RECOMMENDED, SEARCHES
from steeplechase.foundation.schema import JsonValue, canonical, canonical_text
from steeplechase.ledger.reading import open_rows
from steeplechase.ledger.records import Status

ROOT = Path(__file__).parents[1]
BUDGETS = (5, 10, 20)
RESAMPLES = 2000
RANDOM = "random"
COMPARED = (RECOMMENDED, "asha", "hyperband", "progressive_mean", "tpe")
VARIANTS = ("rank_checked_tpe", "rank_checked_random")
ACCEPTED = 1.1
"""Largest ratio to random search that a choice may have on a family that it is chosen on."""
PUBLISHED_POINTS, PUBLISHED_TOKENS = 30, 6_000_128
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """Tasks of one kind, and how often each is replayed."""

    title: str
    seeds: int
    known: str
    """Whether the rule was chosen with its results in sight."""
    source: str


FAMILIES: Mapping[str, Family] = {
    "own_tables": Family(
        "own tables",
        30,
        "chosen on",
        "`curves/evolved_structures*.jsonl`: 240 architectures on two processors",
    ),
    "own_published": Family(
        "own published", 12, "chosen on", "the MLM arms of the published reports at scale laptop, by pretraining seed"
    ),
    "taskset": Family(
        "TaskSet",
        8,
        "not before this page",
        "Metz et al. 2020: six text classifiers, as in the DyHPO repository",
    ),
    "algoperf": Family(
        "AlgoPerf",
        20,
        "random share alone",
        "logs of the AlgoPerf competition, six workloads in JAX, external tuning: validation loss at 20 marks of the "
        "time limit, the last value carried forward",
    ),
    "taskset_held_out": Family(
        "TaskSet, others", 8, "correlation alone", "the other six tasks of the DyHPO repository"
    ),
    "nas_bench_nlp": Family(
        "NAS-Bench-NLP", 30, "chosen on", "Klyuchnikov et al. 2022, cells on WikiText-2: validation loss of 50 epochs"
    ),
}
"""By folder, in the order of the page."""


def published() -> Iterator[RecordedCurves]:
    """Yield the curves of the published reports, one task per pretraining seed, one candidate per arm of its kind."""
    found: dict[int, dict[str, tuple[Mapping[str, JsonValue], dict[float, float]]]] = {}
    for folder in sorted((ROOT / "reports" / "published").glob("*-laptop")):
        if not (folder / "ledger").is_dir():
            continue
        with open_rows(folder) as rows:
            arms, trials = {arm.name: arm for arm in rows.arms()}, {trial.name: trial for trial in rows.trials()}
            curves: dict[str, dict[float, float]] = {}
            for record in rows.records():
                if record.stage == "pretrain" and record.trial is not None and record.status is not Status.FAILED:
                    curves.setdefault(record.trial, {}).update(points_of(record))
        for trial, curve in curves.items():
            arm = arms[trials[trial].arm]
            if arm.tuning_trial_of is None and arm.candidate.objective.kind == "masked_language_model":
                document = canonical(arm.candidate)
                key = canonical_text({part: document.get(part) for part in ("architecture", "recipe")})
                if len(curve) == PUBLISHED_POINTS and max(curve) == PUBLISHED_TOKENS:
                    found.setdefault(trials[trial].seed, {}).setdefault(key, (document, curve))
    for seed, candidates in sorted(found.items()):
        configs = {key: document for key, (document, _) in candidates.items()}
        points = {key: curve for key, (_, curve) in candidates.items()}
        yield recorded(f"seed {seed}", configs, points, maximise=False)


def tasks_of(family: str, folder: Path) -> tuple[RecordedCurves, ...]:
    """Return the tasks of a family."""
    if family == "own_published":
        return tuple(published())
    return read_curves(ROOT / "curves" if family == "own_tables" else folder / family)


def measured(folder: Path, path: Path) -> dict[str, dict[str, Numbers]]:
    """Return the regrets [races budgets] by family and search; new ones are written as they are measured."""
    rows: dict[str, dict[str, list[list[float]]]] = json.loads(path.read_text()) if path.exists() else {}
    for name, family in FAMILIES.items():
        missing = [search for search in (RANDOM, *COMPARED, *VARIANTS) if search not in rows.get(name, {})]
        tasks = [CurveTask.of(curves) for curves in tasks_of(name, folder)] if missing else []
        for search in missing:
            rows.setdefault(name, {})[search] = [
                regrets(task, SEARCHES[search], BUDGETS, seed) for task in tasks for seed in range(family.seeds)
            ]
            path.write_text(json.dumps(rows))
            print(name, search, file=sys.stderr, flush=True)  # noqa: T201
    return {name: {search: np.array(each) for search, each in found.items()} for name, found in rows.items()}


def ratios(of_search: Numbers, of_random: Numbers) -> Numbers:
    """Return ratios of mean regrets with their 95% bootstrap interval over races [budgets, (ratio, low, high)]."""
    picks = np.random.default_rng(0).integers(len(of_search), size=(RESAMPLES, len(of_search)))
    drawn = of_search[picks].mean(axis=1) / of_random[picks].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return np.array([of_search.mean(axis=0) / of_random.mean(axis=0), low, high]).T


def chosen_without(family: str, means: Mapping[str, Mapping[str, Numbers]]) -> str:
    """Return the search with the smallest geometric mean on the other families, of those that lose on none."""
    others = {
        search: np.array([means[other][search] for other in means if other != family])
        for search in (*COMPARED, *VARIANTS)
    }
    safe = [search for search, found in others.items() if found.max() <= ACCEPTED]
    return min(safe or others, key=lambda search: float(np.log(others[search]).mean()))


def page(found: Mapping[str, Mapping[str, Numbers]]) -> str:
    """Return the page."""
    of_random = {name: found[name][RANDOM] for name in FAMILIES}
    all_ratios = {
        name: {search: ratios(found[name][search], of_random[name]) for search in (*COMPARED, *VARIANTS)}
        for name in FAMILIES
    }
    means = {name: {search: each[:, 0] for search, each in of.items()} for name, of in all_ratios.items()}
    main = [_row(name, [_with_interval(all_ratios[name][search]) for search in COMPARED]) for name in FAMILIES]
    variants = [_row(name, [_with_interval(all_ratios[name][search]) for search in VARIANTS]) for name in FAMILIES]
    variants.append(_geometric(means, VARIANTS))
    left_out = []
    for name in FAMILIES:
        choice = chosen_without(name, means)
        left_out.append(_row(name, [f"`{choice}`", _plain(means[name][choice])]))
    return (
        Path(__file__)
        .with_suffix(".md")
        .read_text(encoding="utf-8")
        .format(
            families="\n".join(_source(name, of_random[name]) for name in FAMILIES),
            compared=_table(
                ["family", *(f"`{search}`" for search in COMPARED)], [*main, _geometric(means, COMPARED)]
            ),
            variants=_table(
                ["family", *(f"`{search}`" for search in VARIANTS)], [*variants, _geometric(means, VARIANTS)]
            ),
            left_out=_table(["left out", "chosen on the others", "its ratios there"], left_out),
            accepted=f"{ACCEPTED:g}",
        )
    )


def _geometric(means: Mapping[str, Mapping[str, Numbers]], searches: Sequence[str]) -> list[str]:
    cells = [
        _plain(np.exp(np.mean([np.log(means[name][search]) for name in FAMILIES], axis=0))) for search in searches
    ]
    return ["**geometric mean**", *cells]


def _source(name: str, of_random: Numbers) -> str:
    family = FAMILIES[name]
    cells = [family.title, family.source, str(len(of_random)), family.known, _plain(of_random.mean(axis=0))]
    return f"| {' | '.join(cells)} |"


def _row(name: str, cells: Sequence[str]) -> list[str]:
    return [FAMILIES[name].title, *cells]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(values: Numbers) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _with_interval(values: Numbers) -> str:
    return "<br>".join(f"{ratio:.2f} [{low:.2f}, {high:.2f}]" for ratio, low, high in values)


if __name__ == "__main__":
    sys.stdout.write(page(measured(Path(sys.argv[1]), Path(sys.argv[2]))))
