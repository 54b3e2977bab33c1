"""Scores of generated texts with their spread over seeds and over texts, and a few texts beside their references."""

from collections.abc import Iterator
from math import exp
from statistics import fmean, stdev

from reports.number_format import UNKNOWN, fixed
from reports.section import Content, Section, grouped, shared, spread_text, with_rows
from reports.statistics.results import Results
from reports.table import Column, Row, Table, number, shown, words
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import FineTuneResult, finite
from steeplechase.ledger.trial_history import chosen_records

NAME = "generated_texts"
SAMPLES = "text_samples"
TITLE = "Generated texts: scores over seeds, and over resampled texts of dev"
SAMPLES_TITLE = "Texts of the first seed beside their references"
DECIMALS = 2
PERPLEXITY = "perplexity of targets"
PER_TOKEN = "lower is better; e to the mean loss in nats of the tokens of dev, ends included"
LARGEST_LOSS = 700.0
"""Above it a perplexity is no finite number."""
NOTE = (
    "± over seeds: the standard deviation over pretraining seeds. Over texts: half of the 95% interval of one "
    "model's score when the texts of dev are resampled, the mean over models; no difference's interval contains it."
)
CHOSEN = "The first examples of dev, not chosen by their scores."


def _of_texts(results: Results) -> Iterator[tuple[str, int, FineTuneResult]]:
    for arm in results.arms:
        for history in results.trials[arm.name]:
            for _, result in with_results(chosen_records(history.records, results.snapshot.labels), FineTuneResult):
                if result.intervals is not None:
                    yield arm.name, history.trial.seed, result


def _score_rows(results: Results) -> Iterator[Row]:
    """Yield one row per model, task and metric: the score, its interval over resampled texts, the signature."""
    for arm, seed, result in _of_texts(results):
        model: Row = {"arm": arm, "seed": seed, "fine_tuning_seed": result.seed, "task": result.task}
        for metric, (low, high) in (result.intervals or {}).items():
            score: Row = {"value": finite(result.scores.get(metric)), "low": finite(low), "high": finite(high)}
            signature = (result.signatures or {}).get(metric, "")
            yield {**model, "metric": metric, **score, "texts": result.examples, "signature": signature}
        dev_loss = finite((result.target_losses or {}).get("dev"))
        if dev_loss is not None:
            value = exp(dev_loss) if dev_loss < LARGEST_LOSS else None
            score = {"value": value, "low": None, "high": None}
            yield {**model, "metric": PERPLEXITY, **score, "texts": result.examples, "signature": PER_TOKEN}


def _sample_rows(results: Results) -> Iterator[Row]:
    """Yield the kept texts of every arm's first pretraining and fine-tuning seed."""
    told: set[tuple[str, str]] = set()
    for arm, _, result in _of_texts(results):
        if (arm, result.task) not in told and result.samples:
            told.add((arm, result.task))
            for sample in result.samples:
                texts = {name: getattr(sample, name) for name in ("source", "reference", "generated")}
                yield {"arm": arm, "task": result.task, **texts}


def _over_seeds(rows: list[Row]) -> str:
    """Return the mean and standard deviation over pretraining seeds."""
    valued = [row for row in rows if number(row["value"]) is not None]
    means = [fmean(number(row["value"]) or 0.0 for row in of_seed) for of_seed in grouped(valued, "seed")]
    if not means:
        return UNKNOWN
    return spread_text(fmean(means), stdev(means) if len(means) > 1 else None, len(means), DECIMALS)


def _over_texts(rows: list[Row]) -> str:
    """Return the mean half interval over texts."""
    bounds = [(number(row["low"]), number(row["high"])) for row in rows]
    halves = [(high - low) / 2 for low, high in bounds if low is not None and high is not None]
    valued = any(number(row["value"]) is not None for row in rows)
    return f"±{fixed(fmean(halves), DECIMALS)}" if halves and valued else UNKNOWN


COLUMNS = (
    *map(shared, ("arm", "task", "metric")),
    *(Column("mean ± sd (n)", read=_over_seeds), Column("over texts", read=_over_texts)),
)
SAMPLE_COLUMNS = [*map(words, ("task", "arm", "source", "reference", "generated"))]


def _content(results: Results) -> Content:
    scores = Table.of(NAME, _score_rows(results))
    samples = Table.of(SAMPLES, _sample_rows(results))
    signatures = dict.fromkeys(f"{row['metric']}: {row['signature']}" for row in scores.rows if row["signature"])
    grids = (
        *shown(NAME, TITLE, COLUMNS, grouped(scores.rows, "arm", "task", "metric"), [NOTE], *signatures),
        *shown(SAMPLES, SAMPLES_TITLE, SAMPLE_COLUMNS, samples.rows, [CHOSEN]),
    )
    return Content(with_rows(scores, samples), grids)


SECTION = Section(NAME, _content)
