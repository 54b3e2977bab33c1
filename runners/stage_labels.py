"""The labels of a trial's stages, in the order of execution. Pure; without torch."""

from runners.stages.stage import Stage
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import fine_tuning_runs
from steeplechase.configuration.metrics import SCORE
from steeplechase.configuration.stage_label import LONG_SEQUENCE_PHASE, PRETRAIN, PROBE, UNPRUNED, StageLabel


def pretrain_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the labels of a trial's pretraining stages, one per rung or checkpoint and one for the budget."""
    return tuple(str(StageLabel(PRETRAIN, tokens)) for tokens in experiment.pretraining.stage_ends)


def hurdle_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the labels of the stages whose values the hurdles compare: probes if declared, else pretraining."""
    hurdle = experiment.pretraining.hurdle
    return tuple(
        str(StageLabel(PROBE if hurdle.rung_probe else PRETRAIN, tokens))
        for tokens in experiment.pretraining.rung_tokens
    )


def fine_tune_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the labels of a trial's fine-tuning stages."""
    return tuple(run.label for run in fine_tuning_runs(experiment.fine_tuning))


def scored_at_end(experiment: Experiment) -> tuple[str, ...]:
    """Return the labels of the fine-tunings on the probe's task in a search by score; otherwise none.

    Their mean score is what the ranks of a probe are checked against; without any, that is the held-out loss.
    """
    search, probe = experiment.search, experiment.pretraining.hurdle.rung_probe
    if search is None or probe is None or search.objectives[0] != SCORE:
        return ()
    return tuple(each for each in fine_tune_labels(experiment) if StageLabel.parse(each).task == probe.task)


def measure_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the labels of the stages that measure a trained model."""
    of_trials = experiment.measure.of_trials
    return tuple(str(StageLabel(each.stage, task=name)) for each in of_trials for name in each.names)


def all_labels(experiment: Experiment) -> tuple[str, ...]:
    """Return the labels of all stages of a trial that no hurdle stops, without the long-sequence phase."""
    if not experiment.has_trials:
        return ()
    after_pretraining = (*fine_tune_labels(experiment), *measure_labels(experiment))
    labels = (*pretrain_labels(experiment), *hurdle_labels(experiment), *after_pretraining)
    return tuple(dict.fromkeys(labels))


def needs_long_sequence_phase(experiment: Experiment, candidate: Candidate, task: str) -> bool:
    """Return whether a candidate is evaluated on a task after its long-sequence phase."""
    lengthened = experiment.pretrains and candidate.recipe.long_sequence_share > 0
    return lengthened and experiment.fine_tuning.find(task).long_sequences


def kind_of(label: str, stage: Stage) -> str:
    """Return a stage's kind in the ledger.

    Fine-tuning for a hurdle is a probe. Pretraining at the longer length, and before pruning, are kinds of their
    own, because tables of pretraining have neither.
    """
    kind = StageLabel.parse(label).kind
    return kind if kind in (PROBE, LONG_SEQUENCE_PHASE, UNPRUNED) else stage.kind
