"""Results of an experiment as pandas DataFrames and figures. The only import of pandas."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steeplechase.foundation.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from reports.document import Report
    from reports.figures.figure import Picture
    from reports.table import Table
    from steeplechase.ledger.snapshot import Snapshot

EFFECTS, TIMINGS = "effects", "results"
CURVE_COLUMNS = ("arm", "seed", "tokens", "held_out_loss")


@dataclass(frozen=True, eq=False)
class Figure:
    """One figure of a report; a notebook shows it."""

    picture: "Picture"

    @property
    def title(self) -> str:
        """The heading above it."""
        return self.picture.title

    def numbers(self) -> "pd.DataFrame":
        """Return the numbers behind the marks."""
        return _frame(self.picture.numbers)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the figure as SVG, PDF or PNG, by the ending of the file's name, and return its path.

        Raises ConfigurationError for another ending, MachineError if the file cannot be written.
        """
        from reports.figures.matplotlib_style import svg_document
        from steeplechase.foundation.atomic_files import disk_refusals

        file = path_of(path, "file")
        contents = {
            ".svg": lambda: svg_document(self.picture.svg).encode(),
            ".pdf": self.picture.pdf,
            ".png": self.picture.png,
        }
        if file.suffix not in contents:
            raise ConfigurationError(f"{file}: a figure is written as {', '.join(contents)}")
        with disk_refusals(file):
            file.write_bytes(contents[file.suffix]())
        return file

    def __repr__(self) -> str:
        return f"Figure({self.picture.name!r})"

    def _repr_svg_(self) -> str:
        return self.picture.svg


@dataclass(frozen=True, eq=False)
class Results:
    """The results of one experiment at one scale, finished or not, as they were when they were read."""

    folder: Path
    snapshot: "Snapshot"
    report: "Report"

    def __repr__(self) -> str:
        shown = self.snapshot
        return f"Results({str(self.folder)!r}, experiment={shown.experiment!r}, scale={shown.scale!r})"

    @property
    def finding(self) -> str:
        """The finding of the report."""
        return self.report.finding

    def trials(self) -> "pd.DataFrame":
        """Return one row per arm, pretraining seed and metric: the columns arm, seed, task, metric and value.

        `task` is empty for the held-out loss (nats per token) and the score. A task's value is the mean over its
        fine-tuning seeds.
        """
        return _frame(self.report.trials)

    def effects(self) -> "pd.DataFrame":
        """Return each arm's difference from the baseline on each metric, with interval, test and verdict.

        A row per arm and metric: `n` pretraining seeds, `delta` and its own 95% interval `low`, `high` in the unit of
        the metric (nats of a loss, 0 to 100 of a task), `test` and `degrees`, `p`, `p_adjusted` after the correction,
        and `verdict`; the detectable difference and the seeds that would decide. What is unknown is NaN.

        Where nothing is trained: the time of each arm at each length, with its ratio to the baseline's.
        """
        return self.table(EFFECTS if self.snapshot.has_trials else TIMINGS)

    def compare(self, *arms: str, metrics: Sequence[str] = ()) -> "pd.DataFrame":
        """Return the differences between any arms on the named metrics, with p corrected over all pairs of arms.

        A row per pair and metric: `arm` minus `reference`, `n`, `delta`, its own 95% interval `low` and `high`, `p`,
        and `p_adjusted` by Holm's correction over the `family` of so many pairs.

        Each arm minus those after it, a single one minus all others; without names all arms, and held-out loss and
        score. Raises ConfigurationError with every wrong name, DataError where no model is trained.
        """
        from reports.pair_report import pairs_of
        from steeplechase.ledger.example_tables import kept_example_tables

        _, pairs = pairs_of(self.snapshot, kept_example_tables(self.folder, known=self.snapshot), arms, metrics)
        return _frame(pairs)

    def predictions(self, task: str) -> "pd.DataFrame":
        """Return what every trial predicted for the examples of a task: one row per example, for metrics of your own.

        The columns are arm, pretraining_seed, fine_tuning_seed, part, example, row, label, prediction, and the scores
        of single examples by metric where there are any (docs/results.md, Predictions). Raises ConfigurationError for
        an unknown task, MachineError where the stages were moved away.
        """
        from reports.statistics.predictions import predictions_table

        return _frame(predictions_table(self.folder, self.snapshot, task))

    def curves(self) -> "pd.DataFrame":
        """Return the held-out loss (nats) of every trial by tokens seen: arm, seed, tokens and held_out_loss.

        Arms whose objective measures another loss than the baseline's are left out.
        """
        import pandas as pd

        return pd.DataFrame(list(_points(self.snapshot)), columns=list(CURVE_COLUMNS))

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the report's tables."""
        return tuple(table.name for table in self.report.tables if table.rows)

    def table(self, name: str) -> "pd.DataFrame":
        """Return a table of the report. Raises ConfigurationError for an unknown name."""
        return _frame(_named(name, {table.name: table for table in self.report.tables}, "a table"))

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the report's figures."""
        return tuple(picture.name for picture in self.report.pictures)

    def figure(self, name: str) -> Figure:
        """Return a figure of the report. Raises ConfigurationError for an unknown name."""
        return Figure(_named(name, {picture.name: picture for picture in self.report.pictures}, "a figure"))


def load(folder: str | PathLike[str], store: str = "") -> Results:
    """Return the results in a folder of `steeplechase run`, or in a published report with its rows.

    `store` is the URL of the object store of its stages, which is contacted only if it is given: values of single
    examples that are nowhere else are then copied.

    Raises MachineError if the folder has neither, or lacks values that its report needs, CorruptionError if its rows
    are damaged, ConfigurationError for an object that is no path.
    """
    from reports.report import build
    from steeplechase.ledger.example_tables import kept_example_tables
    from steeplechase.ledger.snapshot import snapshot_at

    place = path_of(folder, "folder")
    snapshot = snapshot_at(place)
    return Results(place, snapshot, build(snapshot, example_tables=kept_example_tables(place, store, snapshot)))


def path_of(place: object, what: str) -> Path:
    """Return the path of a file or folder, `what` it is. Raises ConfigurationError for another object than a path."""
    if not isinstance(place, str | PathLike):
        raise ConfigurationError(f"{what}: {place!r:.80} is of type {type(place).__name__}; a path is needed")
    return Path(place)


def _points(snapshot: "Snapshot") -> Iterator[tuple[str, int, int, float]]:
    from reports.views import at_final_seeds
    from steeplechase.configuration.stage_label import PRETRAIN
    from steeplechase.ledger.records import curve_of

    for shown in filter(None, (snapshot, at_final_seeds(snapshot))):
        for arm in (arm.name for arm in shown.arms if arm.name not in shown.arms_with_other_loss):
            for history in shown.of_arm(arm):
                for record in history.finished(PRETRAIN):
                    for tokens, loss in curve_of(record).items():
                        yield arm, history.trial.seed, tokens, loss


def _named(name: object, known: dict[str, Any], what: str) -> Any:
    if isinstance(name, str) and name in known:
        return known[name]
    allowed, meant = ", ".join(known) or "none", did_you_mean(name, known) if isinstance(name, str) else ""
    raise ConfigurationError(f"{name!r:.80} is not {what} of this report: {allowed}.{meant}")


def _frame(table: "Table") -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([dict(row) for row in table.rows], columns=list(table.columns))
