"""How well embeddings of words from form and contexts mimic those of an encoder. BERTRAM, arXiv 1910.07181."""

from collections.abc import Iterator
from statistics import fmean, stdev

from reports.grid import Column, Grid, grid
from reports.number_format import UNKNOWN, fixed
from reports.section import Content, Section, with_rows
from reports.statistics.evidence import Evidence
from reports.statistics.results import Results
from reports.table import Row, Table, number, table
from steeplechase.configuration.measurements import RARE_WORDS
from steeplechase.configuration.stage_label import StageLabel
from steeplechase.ledger.records import with_results
from steeplechase.ledger.stage_results import RareWordsResult, finite

TITLE = "Embeddings of words left out, from form and contexts: R² and cosine"
DECIMALS = 3
MEASURES = ("explained_variance", "cosine")


def rare_words_table(results: Results) -> Table:
    """Return one row per arm, variant and measure, over the pretraining seeds."""
    return table(RARE_WORDS, "arm variant measure words n mean sd", _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        by_variant: dict[str, list[RareWordsResult]] = {}
        for history in results.trials[arm.name]:
            for record, result in with_results(history.finished(RARE_WORDS), RareWordsResult):
                by_variant.setdefault(_variant(record.label), []).append(result)
        for variant in dict.fromkeys(map(_variant, results.snapshot.labels)):
            found = by_variant.get(variant, [])
            for measure in MEASURES:
                values = [value for each in found if (value := finite(getattr(each, measure))) is not None]
                if values:
                    sd = stdev(values) if len(values) > 1 else None
                    spread = {"n": len(values), "mean": fmean(values), "sd": sd}
                    yield {
                        "arm": arm.name,
                        "variant": variant,
                        "measure": measure,
                        "words": found[0].held_out,
                        **spread,
                    }


def _variant(label: str) -> str:
    parsed = StageLabel.parse(label)
    return str(parsed.task) if parsed.kind == RARE_WORDS else ""


def _grids(found: Table) -> Iterator[Grid]:
    cells: dict[tuple[str, str], list[str]] = {}
    for row in found.rows:
        cells.setdefault((str(row["arm"]), str(row["variant"])), [str(row["words"])]).append(_text(row))
    if cells:
        named = [Column("arm", numeric=False), Column("variant", numeric=False)]
        yield grid(
            RARE_WORDS,
            TITLE,
            [*named, *map(Column, ("words", "R²", "cosine"))],
            [[*place, *values] for place, values in cells.items()],
        )


def _text(row: Row) -> str:
    mean, sd = number(row["mean"]), number(row["sd"])
    return f"{fixed(mean or 0.0, DECIMALS)} ± {UNKNOWN if sd is None else fixed(sd, DECIMALS)} ({row['n']})"


def _content(evidence: Evidence) -> Content:
    found = rare_words_table(evidence.results)
    return Content(with_rows(found), tuple(_grids(found)))


SECTION = Section("rare_words", _content)
