"""Beneath the tables: what the signs mean, and under which conditions the numbers hold."""

from collections.abc import Iterator

from reports.numbers import short
from reports.results import Results
from reports.statistics.comparisons import Cell
from reports.statistics.effects import Effect
from reports.statistics.metrics import Metric
from reports.tables.afterwards import addition_notes, known_before
from reports.tables.candidates import SEARCH
from reports.tables.constants import constant_notes
from reports.tables.leakage import leakage_notes
from reports.tables.noise import low_variance
from reports.tables.settings import settings_legend, settings_notes
from reports.tables.squad import squad_notes
from runners.asked.sequential import first_seeds
from runners.designs.arm import BASELINE
from runners.evidence.measured import PRETRAIN
from runners.kept.records import Standing, Status
from search_space.candidate import Candidate
from search_space.change import difference
from search_space.declaration import JsonValue
from search_space.presets import PRESETS
from search_space.published import published

ORIGIN = "ELECTRA-Small, arXiv 2003.10555, appendix A"
ORIGIN_CORPUS = str(published().corpora["convbert"]["pretraining"])
ORIGIN_TOKENS = PRESETS["electra-small"].tokens
HASH_DIGITS = 12
POINTS_TOLD = 3
SPLITS = ("train", "validation", "test")

Notes = tuple[tuple[str, str], ...]
"""Terms, each with its text."""


def legend_of(results: Results) -> tuple[str, ...]:
    """Return what the signs in the tables mean."""
    lines = [
        "mean ± sd (n): over n pretraining seeds; fine-tuning seeds are averaged within each first.",
        "Δ [low, high]: difference to the baseline, paired by pretraining seed: mean and 95% interval (paired t).",
        "*: best mean of its column, and told from the baseline after Holm's correction.",
        "Held-out loss in nats, lower is better; tasks and score (the mean of the tasks) 0 to 100, higher is better.",
    ]
    effects = [results.effect(arm.name, metric) for arm in results.arms for metric in results.shown]
    if any(effect.n == 1 for effect in effects):
        lines.append("?: a single seed tells no spread and no interval.")
    if any(effect.n == 0 for effect in effects):
        lines.append("–: not measured at the end of the budget.")
    if low_variance(results):
        lines.append("low variance: seeds spread it by at most half the tasks' median; it shows smaller differences.")
    if any(results.diverged(arm.name)[0] for arm in results.arms):
        lines.append(
            "Diverged seeds are left out here; with the worst value in their place: Diverged seeds, both ways."
        )
    lines.extend(settings_legend(results))
    lines.extend(_multiplicity(results, effects))
    return tuple(lines)


def _multiplicity(results: Results, effects: list[Effect]) -> Iterator[str]:
    intervals = sum(effect.difference.low is not None for effect in effects)
    if not intervals:
        return
    names = " and ".join(metric.title for metric in results.headlines)
    tested = sum(results.comparison(*_named(cell)).p is not None for cell in results.families[0])
    yield (
        f"Verdicts: helps or hurts where Holm's p is at most 0.05, over the {tested} tests on {names} (further "
        "metrics are a family of their own); no difference larger than m where the 95% interval lies within ±m."
    )
    yield (
        "p by sign flips is exact and assumes nothing, but n seeds never bring it below 2/2^n: Student's paired t "
        "decides. Could be seen: the true difference that one such test finds four times in five; seeds to decide: "
        "with which the verdict would fall four times in five, were Δ and its spread what they look like."
    )
    if results.looks.counts:
        counts = ", ".join(map(str, results.looks.counts))
        yield (
            f"Seeds were added to what was undecided at {counts} seeds; each look spends its share of the error, so "
            "intervals are wider than 95% at one look and hold at whichever look an arm stopped."
        )
    if intervals > 1:
        yield (
            f"{intervals} intervals stand here, none corrected for the others: where nothing differs, "
            f"about {intervals * 0.05:.1f} of them exclude 0 by chance."
        )


def _named(cell: Cell) -> tuple[str, Metric]:
    return cell[0], Metric(cell[1])


def footer_of(results: Results) -> Notes:
    """Return the conditions under which the numbers were measured."""
    setting = results.setting
    start = setting.pretraining.start
    spans = ", ".join(map(str, first_seeds(setting.pretraining.seeds))) or "none"
    if results.looks.counts:
        spans += f", then more up to {results.looks.counts[-1]} for what is undecided"
    tuned = f"; fine-tuning {', '.join(map(str, setting.fine_tuning.seeds))}" if setting.tasks else ""
    notes = [
        ("Scale", results.snapshot.scale),
        ("Corpus", _corpus(results)),
        ("Tokens per trial", _tokens(results)),
        ("Seeds", f"pretraining {spans}{tuned}"),
        *([("Weights", f"every encoder begins with those of {start}")] if start else []),
        *squad_notes(results.snapshot),
        ("Objective", setting.baseline.objective.kind.replace("_", " ")),
        *([] if setting.paper and setting.paper.table else [("Differs from the papers", _differences(results))]),
        ("Diverged", _diverged(results)),
        *constant_notes(results),
        *settings_notes(results),
        *leakage_notes(results.snapshot.shared),
    ]
    if setting.design.kind != SEARCH:
        known, added = known_before(results), list(addition_notes(results))
        notes += [("Known when this was begun", known)] if known else []
        notes += [("Added after results", "; ".join(added))] if added else []
    left_out = results.snapshot.impossible
    if left_out:
        notes.append(("Impossible points left out", f"{len(left_out)}: {_left_out(left_out)}"))
    return tuple(notes)


def _left_out(points: tuple[tuple[str, ...], ...]) -> str:
    first = "; ".join(f"{name}: {', '.join(reasons)}" for name, *reasons in points[:POINTS_TOLD])
    return first if len(points) <= POINTS_TOLD else f"{first}; …"


def _corpus(results: Results) -> str:
    kind = results.setting.corpus.kind
    records = [record for record in results.snapshot.shared if record.label == "corpus"]
    finished = [record for record in records if record.status is Status.FINISHED]
    if not finished:
        return f"{kind} (not read yet)"
    result = finished[-1].result
    told = f"{_split_sizes(result.get('splits'))}{_left_unread(result.get('unreadable_files'))}"
    return f"{kind}{told}, sha256 {str(result.get('content_hash'))[:HASH_DIGITS]}"


def _left_unread(files: JsonValue) -> str:
    """Return how many files of the documentation are left out; the same ones on every run."""
    return f", {files} files left out that are no Python" if isinstance(files, int) and files else ""


def _split_sizes(splits: JsonValue) -> str:
    sizes = splits if isinstance(splits, dict) else {}
    documents = {name: size.get("documents") for name, size in sizes.items() if isinstance(size, dict)}
    counts = [f"{count} {name}" for name, count in sorted(documents.items(), key=lambda item: SPLITS.index(item[0]))]
    return f", documents: {', '.join(counts)}" if counts else ""


def _tokens(results: Results) -> str:
    """Return the budget, and what finished trials saw where that is more than asked: updates are whole."""
    planned = results.setting.pretraining.tokens
    histories = (h for h in results.snapshot.histories if h.standing is Standing.FINISHED)
    seen = {record.result.get("tokens") for h in histories for record in h.finished(PRETRAIN)[-1:]}
    counts = sorted(tokens for tokens in seen if isinstance(tokens, int))
    if not counts:
        return "unknown" if planned is None else f"{short(planned)} planned, no trial has finished"
    span = short(counts[0]) if counts[0] == counts[-1] else f"{short(counts[0])} to {short(counts[-1])}"
    return f"{span} in finished trials"


def _differences(results: Results) -> str:
    """Return how corpus, budget and baseline leave the papers' own, which are the defaults of Candidate."""
    origin, setting = Candidate(), results.setting
    budget = "unknown" if setting.pretraining.tokens is None else short(setting.pretraining.tokens)
    parts = [f"corpus {setting.corpus.kind} (ConvBERT: {ORIGIN_CORPUS})"]
    parts.append(f"{budget} tokens ({short(ORIGIN_TOKENS)})")
    for path in difference(origin, setting.baseline):
        name = path.removeprefix("recipe.").replace("_", " ")
        parts.append(f"{name} {_plain(setting.baseline, path)} ({_plain(origin, path)})")
    return f"{', '.join(parts)}; in brackets: {ORIGIN}"


def _plain(candidate: Candidate, path: str) -> str:
    part = candidate if path.partition(".")[0] in ("objective", "recipe") else candidate.architecture
    value: object = part
    for name in path.split("."):
        value = getattr(value, name)
    return str(getattr(value, "kind", value))


def _diverged(results: Results) -> str:
    counts = {
        arm.name: sum(history.standing is Standing.DIVERGED for history in results.trials[arm.name])
        for arm in results.arms
    }
    found = [f"{arm} {count} of {len(results.trials[arm])}" for arm, count in counts.items() if count]
    if not found:
        return "no trial"
    shared = f"; the {BASELINE} is one of them" if counts.get(BASELINE) else ""
    return f"{', '.join(found)} trials, never averaged in{shared}"
