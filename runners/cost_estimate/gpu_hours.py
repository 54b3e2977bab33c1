"""Estimated GPU hours of an experiment, before anything has run: arithmetic below the peak, or kernels one by one.

An update takes the longer of two times: that of its FLOPs at a share of the card's peak, and that of launching its
kernels, which is what bounds small models. Kernels are counted on the emulated device (docs/gpu.md).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runners.cost_estimate.flops import expected_training, task_flops
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.cards import CARDS, Card, card_named
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import fine_tuning_runs
from steeplechase.configuration.validation.warnings import least_memory
from steeplechase.foundation.devices import Precision, card

UTILISATION = 0.3
"""Share of the peak that arithmetic reaches."""
LAUNCHES_A_BLOCK, LAUNCHES_A_BATCH = 50, 80
"""Kernels of a training batch: of each block, and of embeddings, heads, loss and optimiser."""
SECONDS_A_LAUNCH, SECONDS_AN_HOUR = 5e-6, 3600
USUAL = ("A100", "H100", "RTX 4090")
"""Cards that are named where this machine has none of the table."""


@dataclass(frozen=True)
class GpuHours:
    """Hours of one card, on which the stages run one after another."""

    pretraining: float
    fine_tuning: float

    @property
    def total(self) -> float:
        """Hours of pretraining and fine-tuning together."""
        return self.pretraining + self.fine_tuning

    def __add__(self, other: "GpuHours") -> "GpuHours":
        return GpuHours(self.pretraining + other.pretraining, self.fine_tuning + other.fine_tuning)

    def times(self, count: float) -> "GpuHours":
        """Return the hours of so many trials."""
        return GpuHours(count * self.pretraining, count * self.fine_tuning)


def usual_cards() -> tuple[Card, ...]:
    """Return this machine's card, or some usual ones where it is not in the table."""
    here = card_named(card())
    return tuple(each for each in CARDS if each.name in USUAL) if here is None else (here,)


@dataclass(frozen=True)
class TrialWork:
    """FLOPs and kernels of the parts of a trial, each of which is bound by the one or the other."""

    pretraining: tuple[float, float]
    fine_tunings: tuple[tuple[float, float], ...]
    precision: Precision

    def hours(self, on: Card) -> GpuHours:
        """Return the hours that the stages take on a card."""
        pretraining, *fine_tunings = (
            max(flops / (UTILISATION * on.peak(self.precision)), SECONDS_A_LAUNCH * launches) / SECONDS_AN_HOUR
            for flops, launches in (self.pretraining, *self.fine_tunings)
        )
        return GpuHours(pretraining, sum(fine_tunings))


def trial_work(experiment: Experiment, candidate: Candidate) -> TrialWork:
    """Return what one trial computes."""
    recipe, tokens = candidate.recipe, experiment.pretraining.tokens
    architectures = [candidate.architecture]
    if (generator := candidate.objective.generator_of(candidate.architecture, candidate.architecture)) is not None:
        architectures.append(generator)
    batches = recipe.steps(tokens) * recipe.micro_batches * recipe.processes
    flops = float(candidate.train_flops(tokens, experiment.baseline.architecture))
    pretraining = (flops, batches * float(sum(map(_launches, architectures)))) if experiment.pretrains else (0.0, 0.0)
    return TrialWork(pretraining, tuple(_fine_tunings(experiment, candidate.architecture)), recipe.precision)


def memory_by_arm(experiment: Experiment) -> Mapping[str, int]:
    """Return the least bytes of a card that pretraining an arm needs, in each of its processes."""
    return {arm.name: sum(least_memory(arm.candidate)) for arm in experiment.arms if experiment.pretrains}


def _fine_tunings(experiment: Experiment, architecture: Architecture) -> Iterator[tuple[float, float]]:
    """Yield the FLOPs and kernels of every fine-tuning of a trial; a task of unknown size has none."""
    found: dict[tuple[str, int, int], tuple[float, float]] = {}
    for run in fine_tuning_runs(experiment.fine_tuning):
        settings, key = run.settings, (run.task, run.settings.epochs, run.settings.batch_examples)
        if key not in found:  # of other seeds and rates
            task = experiment.fine_tuning.find(run.task)
            batches = settings.epochs * expected_training(task, settings) / settings.batch_examples
            found[key] = (task_flops(task, architecture, settings, settings), batches * _launches(architecture))
        yield found[key]


def _launches(architecture: Architecture) -> int:
    return LAUNCHES_A_BATCH + LAUNCHES_A_BLOCK * architecture.stacked_blocks
