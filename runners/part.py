"""A part of an experiment to run now: some of its arms, pretraining seeds and tasks; the rest stays for later."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.seeds import first_seeds, seeds_in
from steeplechase.configuration.stage_label import FINE_TUNE, WORD_EMBEDDINGS, StageLabel
from steeplechase.foundation.errors import ConfigurationError, not_one_of


@dataclass(frozen=True)
class Part:
    """Names and seeds that are run; an empty list is all of them."""

    arms: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ()

    def has_trial(self, arm: str, seed: int) -> bool:
        """Return whether a trial is in the part."""
        return (not self.arms or arm in self.arms) and (not self.seeds or seed in self.seeds)

    def has_stage(self, label: str) -> bool:
        """Return whether a stage of such a trial is: every one but those of other tasks."""
        parsed = StageLabel.parse(label)
        return not self.tasks or parsed.kind not in (FINE_TUNE, WORD_EMBEDDINGS) or parsed.task in self.tasks


WHOLE = Part()


def part_of(experiment: Experiment, arms: Sequence[str], seeds: str, tasks: Sequence[str]) -> Part:
    """Return a part by the texts of the command line. Raises ConfigurationError with everything that is unknown."""
    if not (arms or seeds or tasks):
        return WHOLE
    if not experiment.has_trials:
        raise ConfigurationError("--arms, --seeds, --tasks: all arms are timed together, so it is run as a whole")
    if not experiment.may_grow:
        what = "a search proposes its candidates" if experiment.search is not None else "tuning selects recipes"
        raise ConfigurationError(f"--arms, --seeds, --tasks: {what} from all results, so it is run as a whole")
    names = {**{arm.name: arm.name for arm in experiment.arms}, **experiment.arm_table.aliases}
    known_seeds, mistakes = first_seeds(experiment.pretraining.seeds), list[str]()
    mistakes += _unknown("--arms", arms, "an arm", [*names])
    mistakes += _unknown("--tasks", tasks, "a task of this experiment", experiment.fine_tuning.tasks)
    chosen: tuple[int, ...] = ()
    try:
        chosen = seeds_in(seeds) if seeds else ()
    except ValueError as wrong:
        mistakes.append(f"--seeds: {wrong}")
    for seed in (seed for seed in chosen if seed not in known_seeds):
        listed = ", ".join(map(str, known_seeds))
        mistakes.append(f"--seeds: {seed} is not one of pretraining.seeds, {listed}; add it there")
    if mistakes:
        raise ConfigurationError(mistakes)
    return Part(tuple(names[name] for name in arms), chosen, tuple(tasks))


def _unknown(flag: str, names: Sequence[str], what: str, known: Sequence[str]) -> Iterator[str]:
    return (f"{flag}: {not_one_of(name, what, known)}" for name in names if name not in known)
