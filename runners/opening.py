"""A request to run an experiment, and its results folder: a new ledger, or one that a grown study goes on with."""

import secrets
import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path

from runners.dag import SharedStages, shared_stages, trial_stages, with_measurements_of_arms
from runners.growth import Change, change_of
from runners.missing_data import missing_device
from runners.part import WHOLE, Part
from runners.settings import RunSettings
from runners.stage_labels import all_labels
from search_space.cards import card_memory
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.plugin_folders import COPIES, copy_plugins
from steeplechase.configuration.plugin_options import OPTIONS, plugin_options_in, recorded_options
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.validation.warnings import too_small_card
from steeplechase.foundation.atomic_files import disk_refusals
from steeplechase.foundation.canonical import fingerprint
from steeplechase.foundation.environment import manifest
from steeplechase.foundation.errors import ConflictError, CorruptionError, MachineError
from steeplechase.foundation.program import PROGRAM, program
from steeplechase.ledger.amendments import amend, amendments, set_fact_of_version
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.database_file import killed_while_created
from steeplechase.ledger.object_store import refuse_url
from steeplechase.ledger.paths import ResultPaths, has_export
from steeplechase.ledger.snapshot import DRAWN_IDENTITY


def conflict(places: ResultPaths, change: Change, command: str) -> list[str]:
    """Return what differs, and both remedies: a folder that takes over what is equal, or the values as they were."""
    folder = places.folder
    other = next(path for n in count(2) if not (path := folder.with_name(f"{folder.name}-{n}")).exists())
    arguments = command.removeprefix(f"{PROGRAM} ") or "run"
    words = [shlex.quote(program()), arguments, "--out", shlex.quote(str(other))]
    if ResultPaths.of(other).root.resolve() != places.root.resolve():
        words += ["--reuse", shlex.quote(str(folder))]
    return [
        f"{folder}: holds another experiment's results; nothing was changed. What differs:",
        *(f"  {line}" for line in change.reasons),
        f"To keep both, and compute nothing twice that is equal: {' '.join(words)}",
        f"To go on in this folder, give what differs its value there; {change.allowed}",
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
    searched = change.declared is None  # its trials are those of the decisions, which a search that goes on keeps
    declared = {name for name in trials if searched or declares(experiment, name)}
    hidden = len(trials - declared)
    left_out = f"; {hidden} that this version leaves out are hidden, not lost" if hidden else ""
    return (f"{folder}: `run` goes on there: {len(declared)} of its trials are kept{left_out}",)


def declares(experiment: Experiment, trial: str) -> bool:
    """Return whether an experiment declares a trial by name."""
    name, _, seed = trial.rpartition("/")
    seeds = experiment.pretraining.seeds
    return any(arm.name == name for arm in experiment.arms) and (not isinstance(seeds, tuple) or int(seed) in seeds)


DEFAULTS = RunSettings()


@dataclass(frozen=True)
class RunRequest:
    """An experiment to run, its results folder and the settings of the run."""

    experiment: Experiment
    scale: str
    paths: ResultPaths
    settings: RunSettings = DEFAULTS
    """How it is run; its overrides are part of `experiment`, and are written to the manifest."""
    command: str = ""
    """The command line of the request, for the report."""
    part: Part = WHOLE
    """What of the experiment is run now."""
    on_warning: Callable[[str], None] = lambda _: None
    """Called with what the user should know before stages run."""

    @cached_property
    def shared(self) -> SharedStages:
        """The stages outside trials. Raises DataError where data are missing."""
        return stages_of(self.experiment)


def stages_of(experiment: Experiment) -> SharedStages:
    """Return the stages outside trials: the inputs of all trials, and what measures all arms together."""
    return with_measurements_of_arms(experiment, shared_stages(experiment))


def refuse_missing_device(request: RunRequest) -> None:
    """Raise MachineError if a new run trains on a device that is missing or too small; stages in the store need none.

    A cluster may have what this machine lacks, and an object store and reused trials the results.
    """
    experiment, folder, settings = request.experiment, request.paths.folder, request.settings
    stored = settings.reuse or settings.store or (folder / LEDGER_NAME).exists()
    lines = () if stored or settings.address is not None else tuple(missing_device(experiment))
    if not lines and not stored and (memory := card_memory()) is not None:
        lines = tuple(too_small_card(experiment, memory * min(1.0, settings.gpus_per_trial or 1.0)))
    store = request.paths.store()
    if lines and not all(
        store.has(stage.kind, stage.key)
        for arm in experiment.arms
        for seed in first_seeds(experiment.pretraining.seeds)
        if request.part.has_trial(arm.name, seed)
        for stage in trial_stages(experiment, request.shared, arm.candidate, seed).values()
    ):
        raise MachineError(lines)


@contextmanager
def open_ledger(request: RunRequest) -> Iterator[Ledger]:
    """Lock the results folder and open its ledger, which goes on with a study that grew.

    A ledger without the result of any trial is set aside for another experiment. Raises ConflictError where another
    experiment has results.
    """
    lost_ledger(request.paths)
    if request.settings.store:
        refuse_url(request.settings.store)
    request.paths.make()
    with request.paths.locked():
        request.paths.use_objects(request.settings.store, begun=(request.paths.folder / LEDGER_NAME).exists())
        for place in {request.paths.root, request.paths.folder}:  # for workers, and for the folder after a move
            copy_plugins(request.experiment.plugins, place / COPIES)
        with ExitStack() as opened:
            ledger = opened.enter_context(_ledger_in(request.paths.folder))
            if ledger.fact("identity") is not None:
                # in a study that may grow, what another machine measured is hidden and measured again
                for stage in () if request.experiment.may_grow else request.shared.by_label.values():
                    stage.declaration.refuse_beside(str(ledger.path), ledger.records())
                change = change_of(ledger, request.experiment, request.shared)
                if change.reasons and change.has_results:
                    raise ConflictError(conflict(request.paths, change, request.command))
                if change.reasons:
                    opened.pop_all().close()
                    request.on_warning(_set_aside(request.paths.folder))
                    ledger = opened.enter_context(_ledger_in(request.paths.folder))
                else:
                    if ledger.fact(DRAWN_IDENTITY) is None:  # before, the folder's name told ledgers apart
                        ledger.set_fact(DRAWN_IDENTITY, fingerprint(request.paths.folder.name)[:12])
                    amend(ledger, request.experiment, change.declared, change.redeclared)
                    set_fact_of_version(ledger, "scale", request.scale)
                    _keep_plugin_options(ledger, request.experiment)
            _begin(ledger, request)
            yield ledger


def _ledger_in(folder: Path) -> AbstractContextManager[Ledger]:
    return closing(Ledger(folder / LEDGER_NAME))


def _begin(ledger: Ledger, request: RunRequest) -> None:
    """Write the facts of a new ledger; one that has them is unchanged."""
    experiment = request.experiment
    if ledger.fact("identity") is not None:
        return
    with ledger.transaction():
        ledger.set_fact(DRAWN_IDENTITY, secrets.token_hex(6))
        ledger.set_fact("experiment", experiment.experiment)
        ledger.set_fact("scale", request.scale)
        ledger.set_fact("labels", [*all_labels(experiment)])
        ledger.set_fact("document", experiment.model_dump(mode="json"))
        overrides = request.settings.overrides
        ledger.set_fact("manifest", {**manifest(), **({"settings": [*overrides]} if overrides else {})})
        ledger.set_fact("impossible", experiment.impossible_points)
        ledger.set_fact("identity", experiment.identity())
        _keep_plugin_options(ledger, experiment)


def _keep_plugin_options(ledger: Ledger, experiment: Experiment) -> None:
    options, known = recorded_options(experiment), plugin_options_in(ledger.facts())
    if options is not None and (not known or (len(known) <= len(amendments(ledger)) and options != known[0])):
        set_fact_of_version(ledger, OPTIONS, options)


def _set_aside(folder: Path) -> str:
    """Rename a ledger without the result of a trial, for another experiment; return a warning that says so."""
    kept = next(path for n in count(1) if not (path := folder / f"ledger.former-{n}.sqlite").exists())
    for suffix in ("", "-wal", "-shm"):  # the latter two where another process reads it
        if (file := folder / f"{LEDGER_NAME}{suffix}").exists():
            file.rename(f"{kept}{suffix}")
    return f"{folder}: no trial of the experiment in it had ended; begun anew, its ledger is kept in {kept.name}"


def lost_ledger(paths: ResultPaths) -> str | None:
    """Return a warning if a folder has results but no ledger, because the run then starts with a new one.

    Raises CorruptionError if the ledger is empty although there are results, ConflictError if the folder has a
    published report, which holds the export of a ledger only.
    """
    path = paths.folder / LEDGER_NAME
    with disk_refusals(paths.folder):
        size = path.stat().st_size if path.is_file() else None
        exported, missing = size is None and has_export(paths.folder), not path.exists()
        begun = killed_while_created(path)  # nothing was written yet
        remains = paths.leftovers if size == 0 or (missing and not exported) else ()
    if exported:
        raise ConflictError(f"{paths.folder}: holds a published report. Did you mean another --out folder?")
    if remains and not (missing or begun):
        advice = "restore it, or move it away to begin a new one over the stages that are kept"
        raise CorruptionError(f"{path}: is empty, but {remains[0]} is beside it; {advice}")
    if not remains:
        return None
    consequence = "a new ledger is created, without the earlier records and decisions"
    return f"{paths.folder}: has {remains[0]}, but {'an empty' if begun else 'no'} {LEDGER_NAME}; {consequence}"
