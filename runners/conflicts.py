"""Messages about a changed experiment in a results folder: a refusal with its remedies, or what `run` will do."""

import shlex
from contextlib import closing
from itertools import count

from runners.dag import SharedStages
from runners.growth import Change, change_of
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.paths import ResultPaths


def conflict(places: ResultPaths, change: Change, command: str) -> list[str]:
    """Return what differs, and both remedies: a folder that takes over what is equal, or the values as they were."""
    folder = places.folder
    other = next(path for n in count(2) if not (path := folder.with_name(f"{folder.name}-{n}")).exists())
    words = [command or "steeplechase run", "--out", shlex.quote(str(other))]
    if ResultPaths.of(other).root.resolve() != places.root.resolve():
        words += ["--reuse", shlex.quote(str(folder))]
    return [
        f"{folder}: holds another experiment's results; nothing was changed. What differs:",
        *(f"  {line}" for line in change.reasons),
        f"To keep both, and compute nothing twice that is equal: {' '.join(words)}",
        "To add to this folder, give what differs its value there; arms, seeds and tasks may be added and left out",
    ]


def growth_lines(places: ResultPaths, experiment: Experiment, shared: SharedStages, command: str) -> tuple[str, ...]:
    """Return what `run` would do with the results in a folder; empty if they are of this very experiment."""
    folder = places.folder
    if not (folder / LEDGER_NAME).is_file():
        return ()
    with closing(Ledger.at(folder)) as ledger:
        if ledger.fact("identity") is None:
            return ()
        change = change_of(ledger, experiment, shared)
        if change.reasons and not change.has_results:
            return (f"{folder}: no trial of the experiment in it has ended; `run` begins anew there",)
        if change.reasons:
            _, *remaining = conflict(places, change, command)
            return (f"{folder}: `run` refuses to mix its results with these. What differs:", *remaining)
        if not change.differs:
            return ()
        trials = {trial.name for trial in ledger.trials()}
    declared = {name for name in trials if declares(experiment, name)}
    hidden = len(trials - declared)
    left_out = f"; {hidden} that this version leaves out are hidden, not lost" if hidden else ""
    return (f"{folder}: `run` goes on there: {len(declared)} of its trials are kept{left_out}",)


def declares(experiment: Experiment, trial: str) -> bool:
    """Return whether an experiment declares a trial by name."""
    name, _, seed = trial.rpartition("/")
    seeds = experiment.pretraining.seeds
    return any(arm.name == name for arm in experiment.arms) and (not isinstance(seeds, tuple) or int(seed) in seeds)
