"""What pretraining made of its GPUs: tokens per second, share of the card's peak, and peak memory, by arm."""

from collections.abc import Callable, Iterator, Sequence

from reports.grid import Column, shown, words
from reports.number_format import NOTHING, percent
from reports.section import Content, Section
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number
from search_space.cards import utilisation
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.records import ArmRow, Record, with_results
from steeplechase.ledger.stage_results import PretrainResult

GPU_USE = "gpu_use"
TITLE = (
    "What pretraining made of each GPU, with evaluations and checkpoints: MFU is the share of the peak of dense "
    "matrix products; stages that were resumed or run beside others on the card are among them"
)


def _rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        if arm.candidate.recipe.device == "cuda":
            records = [r for history in results.trials[arm.name] for r in history.finished(PRETRAIN)]
            yield from _row(results, arm, [record for record in records if not record.reused and record.seconds])


def _row(results: Results, arm: ArmRow, records: Sequence[Record]) -> Iterator[Row]:
    """Yield the arm's row; none before a stage has finished."""
    tokens, seconds, peaks, before = 0.0, 0.0, list[int](), dict[str | None, float]()
    for record, result in with_results(records, PretrainResult):
        tokens += result.tokens - before.get(record.trial, 0.0)
        before[record.trial] = result.tokens
        seconds += record.seconds
        peaks += [] if result.peak_bytes is None else [result.peak_bytes]
    if not seconds:
        return
    gpu, recipe = results.snapshot.manifest.get("gpu"), arm.candidate.recipe
    name = str(gpu.get("card")) if isinstance(gpu, dict) else ""
    flops_a_token = arm.train_flops / recipe.own_tokens(results.experiment.pretraining.tokens)
    pace = tokens / seconds / recipe.processes
    yield {
        "arm": arm.name,
        "card": name,
        "gpus": recipe.processes,
        "tokens_per_second": pace,
        "model_flops_utilisation": utilisation(name, recipe.precision, flops_a_token * pace),
        "peak_bytes": max(peaks, default=None),
    }


COLUMNS = (
    words("arm"),
    words("card"),
    Column("GPUs of a trial", read="gpus"),
    Column("tokens/s of each", read=lambda row: f"{number(row['tokens_per_second']) or 0:,.0f}"),
    Column("MFU", read=lambda row: _known(row["model_flops_utilisation"], percent)),
    Column("peak memory", read=lambda row: _known(row["peak_bytes"], lambda size: f"{size / 2**30:.1f} GiB")),
)


def _known(value: JsonValue, text: Callable[[float], str]) -> str:
    found = number(value)
    return NOTHING if found is None else text(found)


def _content(evidence: Evidence) -> Content:
    found = Table.of(GPU_USE, _rows(evidence.results))
    return Content(found.filled, shown(GPU_USE, TITLE, COLUMNS, found.rows))


SECTION = Section(GPU_USE, _content)
