"""What pretraining made of its GPUs: tokens per second, share of the card's peak, and peak memory, by arm."""

from collections.abc import Iterator

from reports.number_format import percent
from reports.section import Section, known, one_table
from reports.statistics.results import Results
from reports.table import Column, Row, number, words
from search_space.cards import utilisation
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.foundation.devices import is_gpu
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import PretrainResult

GPU_USE = "gpu_use"
TITLE = (
    "What pretraining made of each GPU, with evaluations and checkpoints: MFU is the share of the peak of dense "
    "matrix products; stages that ran beside others on the card are among them"
)


def _rows(results: Results) -> Iterator[Row]:
    """Yield a row per arm on GPUs; none before a stage of it has finished."""
    gpu = results.snapshot.manifest.get("gpu")
    card = str(gpu.get("card")) if isinstance(gpu, dict) else ""
    for arm in (arm for arm in results.arms if is_gpu(arm.candidate.recipe.device)):
        recipe = arm.candidate.recipe
        records = [r for history in results.trials[arm.name] for r in history.finished(PRETRAIN)]
        tokens, seconds, peaks, before = 0.0, 0.0, list[int](), dict[str | None, float]()
        for record, result in with_results(records, PretrainResult):
            if not record.reused and record.seconds:
                tokens += result.tokens - before.get(record.trial, 0.0)
                before[record.trial] = result.tokens
                seconds += record.total_seconds
                peaks += [] if result.peak_bytes is None else [result.peak_bytes]
        if seconds:
            flops_a_token = arm.train_flops / recipe.own_tokens(results.experiment.pretraining.tokens)
            pace = tokens / seconds / recipe.processes
            yield {
                "arm": arm.name,
                "card": card,
                "gpus": recipe.processes,
                "tokens_per_second": pace,
                "model_flops_utilisation": utilisation(card, recipe.precision, flops_a_token * pace),
                "peak_bytes": max(peaks, default=None),
            }


COLUMNS = (
    words("arm"),
    words("card"),
    Column("GPUs of a trial", read="gpus"),
    Column("tokens/s of each", read=lambda row: f"{number(row['tokens_per_second']) or 0:,.0f}"),
    Column("MFU", read=lambda row: known(row["model_flops_utilisation"], percent)),
    Column("peak memory", read=lambda row: known(row["peak_bytes"], lambda size: f"{size / 2**30:.1f} GiB")),
)


SECTION = Section(GPU_USE, one_table(GPU_USE, _rows, TITLE, COLUMNS))
