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
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import Status
from steeplechase.ledger.snapshot import open_rows

ROOT = Path(__file__).parents[1]
BUDGETS = (5, 10, 20)
RESAMPLES = 2000
RANDOM = "random"
COMPARED = (RECOMMENDED, "asha", "hyperband", "progressive_mean", "tpe")
VARIANTS = ("rank_checked_tpe", "rank_checked_random")
LIMITS = (1.1, 1.2, float("inf"))
"""Largest ratios to random search that a choice may have on the families that it is chosen on."""
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
        "yes",
        "`curves/evolved_structures*.jsonl`: 240 architectures on two processors",
    ),
    "own_published": Family(
        "own published", 12, "yes", "the MLM arms of the published reports at scale laptop, by pretraining seed"
    ),
    "taskset": Family(
        "TaskSet",
        8,
        "no",
        "Metz et al. 2020: six text classifiers, as in the DyHPO repository",
    ),
    "algoperf": Family(
        "AlgoPerf",
        30,
        "for the random share",
        "logs of the AlgoPerf competition, six workloads in JAX, external tuning: validation loss at 20 marks of the "
        "time limit, the last value carried forward",
    ),
    "taskset_held_out": Family(
        "TaskSet, others", 8, "for the correlation", "the other six tasks of the DyHPO repository"
    ),
    "nas_bench_nlp": Family(
        "NAS-Bench-NLP", 30, "yes", "Klyuchnikov et al. 2022, cells on WikiText-2: validation loss of 50 epochs"
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


def chosen_without(family: str, means: Mapping[str, Mapping[str, Numbers]], limit: float) -> str | None:
    """Return the search with the smallest geometric mean on the other families, of those within a limit there."""
    others = {
        search: np.array([means[other][search] for other in means if other != family])
        for search in (*COMPARED, *VARIANTS)
    }
    safe = [search for search, found in others.items() if found.max() <= limit]
    return min(safe, key=lambda search: float(np.log(others[search]).mean()), default=None)


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
    left_out = [_row(name, [_choice(name, means, limit) for limit in LIMITS]) for name in FAMILIES]
    searches, variants_of = _row_of_names(COMPARED), _row_of_names(VARIANTS)
    limits = [f"no ratio above {limit:g}" for limit in LIMITS[:-1]]
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    return text.format(
        families="\n".join(_source(name, of_random[name]) for name in FAMILIES),
        compared=_table(["family", *searches], [*main, *_summary(means, COMPARED)]),
        variants=_table(["family", *variants_of], [*variants, *_summary(means, VARIANTS)]),
        left_out=_table(["left out", *limits, "any ratio"], left_out),
    )


def _row_of_names(searches: Sequence[str]) -> list[str]:
    return [f"`{search}`" for search in searches]


def _choice(family: str, means: Mapping[str, Mapping[str, Numbers]], limit: float) -> str:
    choice = chosen_without(family, means, limit)
    return "–" if choice is None else f"`{choice}`<br>{_plain(means[family][choice])}"


def _summary(means: Mapping[str, Mapping[str, Numbers]], searches: Sequence[str]) -> list[list[str]]:
    by_search = [np.array([means[name][search] for name in FAMILIES]) for search in searches]
    return [
        ["**geometric mean**", *(_plain(np.exp(np.log(found).mean(axis=0))) for found in by_search)],
        ["**worst family**", *(_plain(found.max(axis=0)) for found in by_search)],
    ]


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
