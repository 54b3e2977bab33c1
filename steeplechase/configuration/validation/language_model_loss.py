"""Rules of a language model's loss at fine-tuning, and of transferred layers: what every arm needs for them."""

from collections.abc import Iterator

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.fine_tuning_runs import settings_of
from steeplechase.foundation.errors import Violation
from steeplechase.tasks.own_tasks.derived import FeatureTask


def language_model_loss_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield the arms that pretrain without the loss, heads without it, and arms with too few layers."""
    tuning = experiment.fine_tuning
    arms = {arm.name: arm.candidate for arm in experiment.accepted_arms}
    found = (violation for each in _settings(tuning) for violation in _violations(tuning, arms, *each))
    yield from dict.fromkeys(found)  # the common settings are those of many tasks


def _violations(
    tuning: FineTuning, arms: dict[str, Candidate], location: tuple[str, ...], settings: FineTuning, task: str
) -> Iterator[Violation]:
    if settings.language_model_weight:
        field = (*location, "language_model_weight")
        others = [name for name, arm in arms.items() if not isinstance(arm.objective, LanguageModel)]
        if others:
            message = f"{', '.join(others)}: pretrained without a language model; write 0"
            yield Violation(field, message)
        if isinstance(tuning.own_tasks.get(task), FeatureTask):
            yield Violation(field, f"{task} reads a BiLSTM, which predicts no tokens; write 0 in by_task.{task}")
    layers = settings.transferred_layers
    if layers is not None:
        field = (*location, "transferred_layers")
        yield from _layer_violations(field, layers, {name: arm.architecture for name, arm in arms.items()})


def _settings(tuning: FineTuning) -> Iterator[tuple[tuple[str, ...], FineTuning, str]]:
    """Yield the settings of every task, with their place: the common ones, or those of the task alone."""
    for task in tuning.tasks:
        own = tuning.by_task.get(task)
        changes = {} if own is None else own.changes
        place = {"language_model_weight", "transferred_layers"} & changes.keys()
        yield ("by_task", task) if place else (), settings_of(tuning, task), task


def _layer_violations(
    field: tuple[str, ...], layers: int, architectures: dict[str, Architecture]
) -> Iterator[Violation]:
    modules = [name for name, each in architectures.items() if each.is_counted]
    if modules:
        yield Violation(field, f"{', '.join(modules)}: an architecture of kind module has no blocks to leave out")
    depths = {name: len(each.blocks) for name, each in architectures.items() if not each.is_counted}
    shallow = [f"{name} has {depth}" for name, depth in depths.items() if depth < layers]
    if shallow:
        yield Violation(field, f"{layers} blocks of {', '.join(shallow)}; allowed: 0 to {min(depths.values())}")
