"""Tables that describe: contamination, truncation, references, attention, learning curves, the paper's numbers."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from tools.audit.attention import ALL_MASS, INNER, PER_HEAD, concentration, heads_of
from tools.audit.exports import BASELINE, DIAGONAL, DIVERGED, LOSS, Row
from tools.audit.inference import BySeed, Estimate, difference, wilson
from tools.audit.rule import NotRecomputed, Published, Rule
from tools.audit.seed_values import summary
from tools.audit.study import Study
from tools.audit.verdicts import TEXT

QUOTED = "quoted from the paper or counted from its architecture, no measurement"
OTHER_COUNT = "train_flops: counted in closed form by ELECTRA's convention, which the export does not have"


def leakage(study: Study, _: Published) -> Iterator[Row]:
    """Yield the share of dev examples in the pretraining text, with Wilson's interval."""
    for one in study.export.shared_results("contamination"):
        low, high = wilson(one["overlapping"], one["told"]) if one["told"] else (0.0, 1.0)
        yield {
            "task": one["task"],
            "dev_examples": one["examples"],
            "long_enough": one["told"],
            "overlapping": one["overlapping"],
            "share": one["overlapping"] / one["told"] if one["told"] else 0.0,
            "low": low,
            "high": high,
            "by_sentence": one["sentences"],
            "by_run": one["runs"],
        }


def truncation(study: Study, _: Published) -> Iterator[Row]:
    """Yield what encoding cut off."""
    for one in study.export.shared_results("examples"):
        for split in ("train", "dev", "test"):
            part = one.get(split) or {}
            counts = {name: part.get(name) for name in ("examples", "truncated_share", "answers_lost")}
            if part and (counts["truncated_share"] is not None or counts["answers_lost"] is not None):
                yield {"task": one["task"], "split": split, **counts}


def reference(study: Study, _: Published) -> Iterator[Row]:
    """Yield the scores that are known without pretraining."""
    for one in study.export.shared_results("examples"):
        task, primary = one["task"], study.primary(one["task"])
        words, ngram, written = (one.get(name) or {} for name in ("bag_of_words", "ngram", "round_trip"))
        for metric in {primary, *words, *ngram, *written}:
            prefix = f"untrained {task}#"
            scores = [r.result["scores"].get(metric) for r in study.export.shared if r.label.startswith(prefix)]
            untrained = summary({at: score for at, score in enumerate(scores) if score is not None})
            yield {
                "task": task,
                "metric": metric,
                "chance": one.get("chance") if metric == primary else None,
                "bag_of_words": words.get(metric),
                "ngram": ngram.get(metric),
                "round_trip": written.get(metric),
                "untrained": untrained["mean"],
                "untrained_sd": untrained["sd"],
                "untrained_n": untrained["n"] or None,
                "train_examples": one["train"]["examples"],
                "dev_examples": one["dev"]["examples"],
            }


def parts_of_tasks(name: str) -> Callable[[Study, Published], Iterator[Row]]:
    """Return the rule of mean and sd over trials of the scores by part that are under a name of the results."""

    def rows(study: Study, _: Published) -> Iterator[Row]:
        for arm in study.arms:
            samples: dict[tuple[str, str], dict[int, float]] = {}
            for trial in study.export.of_arm(arm):
                for result in trial.scored.values():
                    parts = result.get(name) or {}
                    pairs = parts.items() if isinstance(parts, dict) else enumerate(parts)
                    for part, value in pairs:
                        of_part = samples.setdefault((result["task"], str(part)), {})
                        of_part[len(of_part)] = value
            for (task, part), sample in samples.items():
                yield {"task": task, "part": part, "arm": arm, **summary(sample)}

    return rows


def attention_diagonal(study: Study, _: Published) -> Iterator[Row]:
    """Yield C, attention mass near the diagonal over mass beyond it, by reading and by layer."""
    for arm in study.arms:
        measured = {trial.seed: trial for trial in study.export.of_arm(arm) if heads_of(trial)}
        if not measured:
            continue
        example = next(iter(measured.values())).finished("attention")[-1].result
        length, within = example["length"], example["within"]
        near = length + sum(2 * (length - at) for at in range(1, min(within, length - 1) + 1))
        layers = range(max(int(head[0]) for head in example["heads"]) + 1)
        for reading, layer in [
            *((each, None) for each in (ALL_MASS, INNER, PER_HEAD)),
            *((ALL_MASS, at) for at in layers),
        ]:
            values, others = (_concentrations(study, name, reading, layer) for name in (arm, BASELINE))
            found = difference(values, {} if arm == BASELINE else others, study.paired)
            interval = {name: cell for name, cell in study.interval(found, arm).items() if name != "n"}
            named: Row = {"arm": arm, "reading": reading, "layer": None if layer is None else layer + 1}
            named |= {"length": length, "within": within, "uniform": near / (length**2 - near)}
            yield {**named, **summary(values), **interval}


def _concentrations(study: Study, arm: str, reading: str, layer: int | None) -> dict[int, float]:
    found = {t.seed: concentration(heads, reading, layer) for t in study.export.of_arm(arm) if (heads := heads_of(t))}
    return {seed: value for seed, value in found.items() if value is not None}


def attention(study: Study, published: Published) -> Iterator[Row]:
    """Yield the rows of the mean attention maps that the figure shows."""
    maps: dict[tuple[str, str], np.ndarray] = {}
    for arm, layer in dict.fromkeys((row["arm"], row["layer"]) for row in published):
        measured = [t.finished("attention") for t in study.export.of_arm(arm)]
        maps[arm, layer] = np.array([records[-1].result["maps"][int(layer) - 1] for records in measured if records])
    for (arm, layer), of_arm in maps.items():
        for query, cells in enumerate(of_arm.mean(axis=0), start=1):
            weights = " ".join(f"{round(weight, 10):.6g}" for weight in cells)
            yield {"arm": arm, "layer": layer, "query": query, "n": len(of_arm), "weights": weights}


def curves(study: Study, _: Published) -> Iterator[Row]:
    """Yield mean, lowest and highest held-out loss by tokens, over the seeds that saw most of them."""
    for arm in study.arms:
        trials = [] if arm in study.with_other_loss else study.export.of_arm(arm)
        of_arm = [trial.held_out for trial in trials if trial.status != DIVERGED and trial.held_out]
        furthest = max((max(curve) for curve in of_arm), default=0)
        longest = [curve for curve in of_arm if max(curve) == furthest]
        for tokens in sorted(set.intersection(*map(set, longest))) if longest else ():
            losses = [curve[tokens] for curve in longest]
            row: Row = {"arm": arm, "tokens": tokens, "n": len(longest), "forecast": False}
            yield {**row, "loss": math.fsum(losses) / len(losses), "low": min(losses), "high": max(losses)}


def paper(study: Study, published: Published) -> Iterator[Row]:
    """Yield the measured numbers beside the paper's."""
    costs = {arm.name: arm.costs for arm in study.export.arms}
    for row in published:
        arm, measure = row["arm"], row["measure"]
        task, _, name = measure.partition(":")
        metric = study.in_place_of_score(task if name and study.primary(task) == name else measure)
        counted = {"n": 1, "mean": costs[arm].get(measure), "sd": None}
        known = metric in (*study.metrics, DIAGONAL)
        found = counted if measure == "parameters" else study.summary(arm, metric) if known else None
        if measure == "train_flops":
            found = {"n": 1, "mean": NotRecomputed(OTHER_COUNT), "sd": None}
        yield {**row, **(found or dict.fromkeys(("n", "mean", "sd")))}


def trials(study: Study, _: Published) -> Iterator[Row]:
    """Yield every measured value in long form."""
    for arm in study.arms:
        for metric in (*study.metrics, DIAGONAL):
            task, further = metric.partition(":")[::2]
            if task in study.tasks:
                further = further or study.primary(task)
            named = (task, further) if further else ("", metric)
            for seed, value in study.of(arm, metric).items():
                yield {"arm": arm, "seed": seed, "task": named[0], "metric": named[1], "value": value}


def divergence(study: Study, _: Published) -> Iterator[Row]:
    """Yield each difference with diverged seeds left out and with the worst value in their place."""
    counts = {arm: study.ended(arm) for arm in study.arms}
    for arm, (diverged, trials) in counts.items():
        if not diverged and not (trials and counts[BASELINE][0]):
            continue
        low, high = wilson(diverged, trials)
        for metric in study.headlines:
            row: Row = {"arm": arm, "metric": metric, "diverged": diverged, "trials": trials}
            row |= {"rate": diverged / trials, "rate_low": low, "rate_high": high}
            of_arm, others = (_with_worst(study, each, metric) for each in (arm, BASELINE))
            known = Estimate() if arm == BASELINE else study.difference(arm, BASELINE, metric)
            filled = Estimate() if arm == BASELINE else difference(of_arm, others, study.paired)
            row |= study.interval(known, arm)
            yield row | {f"{name}_all": cell for name, cell in study.interval(filled, arm).items()}


def _with_worst(study: Study, arm: str, metric: str) -> BySeed:
    """Return an arm's values with the worst of any arm, for the loss of any curve, for its diverged seeds."""
    values = [value for each in study.arms for value in study.of(each, metric).values()]
    if metric == LOSS:
        values += [loss for trial in study.export.trials for loss in trial.held_out.values()]
    worst = (max if metric == LOSS else min)(values, default=math.nan)
    missing = {trial.seed: worst for trial in study.export.of_arm(arm) if trial.status == DIVERGED}
    return {**missing, **study.of(arm, metric)}


RULES = {
    "trials": Rule(("arm", "seed", "task", "metric"), trials),
    "divergence": Rule(("arm", "metric"), divergence),
    "leakage": Rule(("task",), leakage),
    "truncation": Rule(("task", "split"), truncation),
    "reference": Rule(("task", "metric"), reference),
    "phenomena": Rule(("task", "part", "arm"), parts_of_tasks("groups")),
    "probe_layers": Rule(("task", "part", "arm"), parts_of_tasks("layers")),
    "attention_diagonal": Rule(("arm", "reading", "layer"), attention_diagonal),
    "attention": Rule(("arm", "layer", "query"), attention),
    "curves": Rule(("arm", "tokens"), curves),
    "paper": Rule(
        ("arm", "row", "measure"),
        paper,
        {"paper": QUOTED, "source": TEXT, "direction": TEXT, "beware": TEXT},
    ),
}
UNTESTED = {
    "departures": "settings of this run beside the paper's, as text",
    "hurdle_savings": "stopped trials by hurdle times the rest of their tokens; the stops are rows of `candidates`",
    "lineage": "ancestors of the best candidate, from a fact that the search wrote; losses are those of `candidates`",
    "importance": "fANOVA of the search, computed by optuna while it ran; its result is an exported row",
    "forecast": "curves extrapolated by a Bayesian power law, calibrated on each other",
    "crossings": "from the forecast",
    "end_forecasts": "curves extrapolated from those of other arms",
}
