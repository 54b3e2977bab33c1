"""Plan of an experiment: arms with costs, cached stages, predicted time and disk. No torch."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from runners.cost_estimate.prediction import Prediction, disk_shortage
from runners.dag import SharedStages, shared_stages
from runners.metric_trials import metric_warnings
from runners.missing_data import missing_device
from runners.opening import growth_lines
from runners.plan_notes import final_notes, generator_notes, reference_notes, score_notes, standings_in
from runners.plan_tuning import TuningCost, plan_tuning_of
from runners.remaining import Remaining
from runners.settings import Selection
from runners.task_sources import table_notes, table_warnings
from runners.text_warnings import text_warnings
from runners.work_left import work_left
from search_space.cards import card_memory
from search_space.cost import Convention
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.designs import Factorial, Search
from steeplechase.configuration.designs.axes import grid_size
from steeplechase.configuration.designs.search import NON_ADAPTIVE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.validation.initial_checkpoints import continuation_notes
from steeplechase.configuration.validation.search import finishing_notes
from steeplechase.configuration.validation.warnings import too_small_card, warnings_of
from steeplechase.foundation.environment import memory_bytes
from steeplechase.foundation.errors import DataError, MachineError, UserError
from steeplechase.tasks.corpora.huggingface import HuggingFaceCorpus
from steeplechase.tasks.data_folder import HINT

ABSENT = (HINT, "no such file", "is not set", "pip install")
"""What lines about missing data contain."""


@dataclass(frozen=True)
class ArmPlan:
    """An arm's parameters, FLOPs and stages, with how many of these are in the cache."""

    arm: Arm
    parameters: int
    forward_flops: int
    train_flops: int
    stages: int | None
    """Over the pretraining seeds of the part; None if they are unknown."""
    cached: int | None
    """Number of stages that are not computed any more; None if their keys are unknown."""


@dataclass(frozen=True)
class Plan:
    """Arms, stages and predicted costs of an experiment."""

    arms: tuple[ArmPlan, ...]
    values_per_cell: tuple[int, int]
    """Pretraining seeds, and fine-tuning seeds per pretraining seed."""
    shared_stages: int
    shared_cached: int | None
    refusal: UserError | None
    """Why the cache and the remaining costs are unknown; None if they are known."""
    prediction: Prediction | None
    """For the stages that are left; candidates of a search count at the baseline's size."""
    aliases: dict[str, str]
    """Duplicate arms: names in later designs for an existing arm."""
    impossible: tuple[tuple[str, ...], ...]
    """Impossible points: the name, then the reasons."""
    notes: tuple[str, ...] = field(default=())
    tuning: TuningCost | None = None
    warnings: tuple[str, ...] = ()
    """Warnings about likely mistakes in the experiment."""
    growth: tuple[str, ...] = ()
    """What `run` does with the results that the folder has of another version of the experiment."""

    @property
    def unknown(self) -> str:
        """The lines of `refusal`; empty without one."""
        return "" if self.refusal is None else "\n".join(self.refusal.lines)

    @property
    def needs(self) -> str:
        """What is wrong with the data: missing, or malformed."""
        return "missing" if any(word in self.unknown for word in ABSENT) else "malformed"


def plan_of(
    experiment: Experiment, selection: Selection, convention: Convention, scale: str, command: str = ""
) -> Plan:
    """Return the plan of the selected part; an object store is contacted if the selection names one.

    `scale` is the name of the scale, by which its results are found; `command` runs it, for messages. Raises
    MachineError if a folder to take trials from has no rows, CorruptionError if a ledger is damaged.
    """
    places, part = selection.paths_of(experiment.experiment, scale), selection.part_of(experiment)
    store = places.store(selection.store)
    shared, refusal = _shared_or_refusal(experiment)
    work = None if shared is None else work_left(experiment, shared, part, places, store, selection.reuse, convention)
    left = None if work is None else work.known
    missing_shared = 0 if left is None else len(left.shared)
    arms = (arm for arm in experiment.arms if not part.arms or arm.name in part.arms)
    prediction = None if work is None else work.prediction
    return Plan(
        arms=tuple(_planned(experiment, arm, convention, left) for arm in arms),
        values_per_cell=(
            sum(not part.seeds or seed in part.seeds for seed in first_seeds(experiment.pretraining.seeds)),
            len(experiment.fine_tuning.seeds),
        ),
        shared_stages=0 if shared is None else len(shared.by_label),
        shared_cached=None if shared is None else len(shared.by_label) - missing_shared,
        refusal=refusal,
        prediction=prediction,
        aliases=dict(experiment.arm_table.aliases),
        impossible=tuple((one.name, *one.reasons) for one in experiment.arm_table.impossible),
        notes=(
            *_notes(experiment),
            *(() if shared is None else generator_notes(experiment, shared, convention)),
            *table_notes(experiment.fine_tuning),
            *reference_notes(experiment, standings_in(experiment, places)),
        ),
        tuning=plan_tuning_of(experiment, None, convention, list, places.folder) if work is None else work.tuning,
        warnings=(
            *places.not_asked(selection.store),
            *_warnings(experiment),
            *(text_warnings(experiment) if shared is None or missing_shared else ()),
            *disk_shortage(prediction, places.root),
        ),
        growth=() if shared is None else growth_lines(places, experiment, shared, command),
    )


def _shared_or_refusal(experiment: Experiment) -> tuple[SharedStages | None, UserError | None]:
    """Return the stages outside trials, or why they are unknown: the data may be on another machine."""
    try:
        return shared_stages(experiment), None
    except (DataError, MachineError) as refusal:
        return None, refusal


def _planned(experiment: Experiment, arm: Arm, convention: Convention, left: Remaining | None) -> ArmPlan:
    candidate = arm.candidate
    return ArmPlan(
        arm=arm,
        parameters=candidate.parameters,
        forward_flops=candidate.architecture.forward_flops(candidate.recipe.sequence_length, convention),
        train_flops=candidate.train_flops(
            experiment.pretraining.tokens, experiment.baseline.architecture, convention
        ),
        stages=None if left is None else left.counts[arm.name],
        cached=None if left is None else left.counts[arm.name] - len(left.by_arm[arm.name]),
    )


def _warnings(experiment: Experiment) -> Iterator[str]:
    memory = card_memory()
    yield from warnings_of(experiment, memory_bytes(), memory)
    yield from missing_device(experiment)
    yield from too_small_card(experiment, memory) if memory is not None else ()
    yield from table_warnings(experiment.fine_tuning)
    yield from metric_warnings(experiment.fine_tuning)


def _notes(experiment: Experiment) -> list[str]:
    notes = [*continuation_notes(experiment)]
    corpus = experiment.corpus
    if isinstance(corpus, HuggingFaceCorpus):
        notes.append(f"corpus: {corpus.name} is read from the Hugging Face hub, which needs the network")
    if _reads_for_nothing(experiment):
        notes.append(
            f"corpus: {corpus.kind} is read and tokenized although no training and no task reads a document; "
            "a short file as `corpus: { kind: text_files, path: FILE }` saves the time"
        )
    for design in experiment.designs:
        if isinstance(design, Search):
            size = grid_size(design.space, experiment.baseline)
            programs = [f"programs of {stack} from {each.kind}" for stack, each in design.structure.items()]
            drawn = [f"at most {size:,} points, impossible ones included"] if design.space else []
            notes.append(f"search: candidates are drawn from {' and '.join([*drawn, *programs])}")
            notes.append(f"search: {_repeats(design, len(first_seeds(experiment.pretraining.seeds)))}")
            of_search = (*finishing_notes(experiment), *score_notes(experiment), *final_notes(experiment))
            notes += [f"search: {note}" for note in of_search]
        else:
            notes += [f"{design.kind}: {note}" for note in design.notes()]
        if isinstance(design, Factorial):
            notes += [f"{design.kind}: {warning}" for warning in _missing_runs(experiment, design)]
    return notes


def _reads_for_nothing(experiment: Experiment) -> bool:
    """Return whether nothing but the key of the examples depends on the pretraining text."""
    tuning = experiment.fine_tuning
    from_files = all(tuning.is_table(name) or tuning.find(name).files for name in tuning.tasks)
    fine_tunes = experiment.has_trials and not experiment.pretrains
    return experiment.corpus.kind == "documentation" and fine_tunes and from_files


def _missing_runs(experiment: Experiment, design: Factorial) -> Iterator[str]:
    from steeplechase.configuration.designs.factorial import (  # numpy, for this design alone
        crossed,
        missing_runs_warning,
        uncrossed,
    )

    if reason := uncrossed([design], experiment.baseline):
        yield reason
    left_out = {one.name for one in experiment.arm_table.impossible}
    runs = crossed(design, experiment.baseline, left_out)
    if runs is not None and runs.missing:
        yield missing_runs_warning(runs)


def _repeats(design: Search, seeds: int) -> str:
    """Return what happens to a point that is proposed again; under a policy, its budget."""
    if design.policy is not None:
        at_once = "one candidate" if design.at_once == 1 else f"{design.at_once} candidates"
        return f"policy {design.policy} trains {at_once} at once, {design.trainings:g} full trainings in all"
    if design.sampler in NON_ADAPTIVE or (design.max_seeds or seeds) <= seeds:
        return "a candidate that is proposed again is drawn again; no seed is added"
    return (
        f"a candidate that is proposed again counts as one arm more: it is trained at a further seed, up to "
        f"{design.max_seeds} seeds, and so is the baseline, which does not count"
    )
