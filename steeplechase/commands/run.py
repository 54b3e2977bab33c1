"""`steeplechase run`: pretrain, apply hurdles, fine-tune, compare. The same command resumes a stopped run."""

from pathlib import Path

import typer

from reports.brief import brief
from reports.document import Report
from runners.settings import RunSettings
from steeplechase.commands.arguments import ExperimentFile, with_flags_of
from steeplechase.commands.output import readers_may_go
from steeplechase.commands.report import all_of
from steeplechase.commands.report_format import print_report
from steeplechase.commands.run_experiment import run_experiment

DONE_WITH_FAILED_TRIALS = 8


@with_flags_of(RunSettings)
def run(experiment: ExperimentFile, settings: RunSettings) -> None:
    """Run or resume an experiment, and report its results."""
    _, snapshot = run_experiment(experiment, settings, _print_brief)
    if snapshot.failed:
        raise typer.Exit(DONE_WITH_FAILED_TRIALS)


def _print_brief(report: Report, folder: Path) -> None:
    with readers_may_go():  # the mirror and the exit code follow
        print_report(brief(report, all_of(folder)))
