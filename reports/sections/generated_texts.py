"""Scores of generated texts with their spread over seeds and over texts, and a few texts beside their references."""

from collections.abc import Iterator
from math import exp
from statistics import fmean, stdev

from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import UNKNOWN, fixed
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import FineTuneResult, finite

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


def scores_table(results: Results) -> Table:
    """Return one row per model, task and metric: the score, its interval over resampled texts, the signature."""
    return table(NAME, "arm seed fine_tuning_seed task metric value low high texts signature", _score_rows(results))


def samples_table(results: Results) -> Table:
    """Return the kept texts of every arm's first pretraining and fine-tuning seed."""
    return table(SAMPLES, "arm task source reference generated", _sample_rows(results))


def _of_texts(results: Results) -> Iterator[tuple[str, int, FineTuneResult]]:
    for arm in results.arms:
        for history in results.trials[arm.name]:
            for _, result in with_results(history.finished("fine_tune"), FineTuneResult):
                if result.intervals is not None:
                    yield arm.name, history.trial.seed, result


def _score_rows(results: Results) -> Iterator[Row]:
    for arm, seed, result in _of_texts(results):
        for metric, (low, high) in (result.intervals or {}).items():
            yield {
                "arm": arm,
                "seed": seed,
                "fine_tuning_seed": result.seed,
                "task": result.task,
                "metric": metric,
                "value": finite(result.scores.get(metric)),
                "low": finite(low),
                "high": finite(high),
                "texts": result.examples,
                "signature": (result.signatures or {}).get(metric, ""),
            }
        dev_loss = finite((result.target_losses or {}).get("dev"))
        if dev_loss is not None:
            yield {
                "arm": arm,
                "seed": seed,
                "fine_tuning_seed": result.seed,
                "task": result.task,
                "metric": PERPLEXITY,
                "value": exp(dev_loss) if dev_loss < LARGEST_LOSS else None,
                "low": None,
                "high": None,
                "texts": result.examples,
                "signature": PER_TOKEN,
            }


def _sample_rows(results: Results) -> Iterator[Row]:
    told: set[tuple[str, str]] = set()
    for arm, _, result in _of_texts(results):
        if (arm, result.task) not in told and result.samples:
            told.add((arm, result.task))
            for sample in result.samples:
                yield {
                    "arm": arm,
                    "task": result.task,
                    "source": sample.source,
                    "reference": sample.reference,
                    "generated": sample.generated,
                }


def _score_grid(found: Table) -> Iterator[Grid]:
    cells: dict[tuple[str, str, str], dict[int, list[Row]]] = {}
    for row in found.rows:
        place = (str(row["arm"]), str(row["task"]), str(row["metric"]))
        cells.setdefault(place, {}).setdefault(int(number(row["seed"]) or 0), []).append(row)
    if not cells:
        return
    columns = [Column(name, numeric=False) for name in ("arm", "task", "metric")]
    columns += [Column("mean ± sd (n)"), Column("over texts")]
    made = grid(NAME, TITLE, columns, [[*place, *_cells(by_seed)] for place, by_seed in cells.items()])
    signatures = dict.fromkeys(f"{row['metric']}: {row['signature']}" for row in found.rows if row["signature"])
    yield with_notes(made, [NOTE], signatures)


def _cells(by_seed: dict[int, list[Row]]) -> tuple[str, str]:
    """Return the mean and standard deviation over pretraining seeds, and the mean half interval over texts."""
    values = [[value for row in rows if (value := number(row["value"])) is not None] for rows in by_seed.values()]
    means = [fmean(each) for each in values if each]
    rows = [row for each in by_seed.values() for row in each]
    bounds = [(number(row["low"]), number(row["high"])) for row in rows]
    halves = [(high - low) / 2 for low, high in bounds if low is not None and high is not None]
    if not means:
        return UNKNOWN, UNKNOWN
    sd = fixed(stdev(means), DECIMALS) if len(means) > 1 else UNKNOWN
    spread = f"±{fixed(fmean(halves), DECIMALS)}" if halves else UNKNOWN
    return f"{fixed(fmean(means), DECIMALS)} ± {sd} ({len(means)})", spread


def _samples_grid(found: Table) -> Iterator[Grid]:
    if found.rows:
        columns = [Column(name, numeric=False) for name in ("task", "arm", "source", "reference", "generated")]
        rows = [[str(row[column.title]) for column in columns] for row in found.rows]
        yield with_notes(grid(SAMPLES, SAMPLES_TITLE, columns, rows), [CHOSEN])


def _content(evidence: Evidence) -> Content:
    scores, samples = scores_table(evidence.results), samples_table(evidence.results)
    return Content(with_rows(scores, samples), (*_score_grid(scores), *_samples_grid(samples)))


SECTION = Section(NAME, _content)
