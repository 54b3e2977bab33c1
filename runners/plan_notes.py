"""Notes of a plan: tasks below a reference so far, and what the evaluation set and the end of a search will cost."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from runners.dag import SharedStages
from runners.stages.evaluation_set import EvaluationSetStage
from runners.stages.stage import Stage
from search_space.cost import Convention
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.final_comparison import final_settings, most_ablation_arms
from steeplechase.configuration.metrics import SCORE, objectives_in_effect
from steeplechase.configuration.seeds import first_seeds
from steeplechase.configuration.validation.search import asked_candidates, possible_points
from steeplechase.ledger.database import LEDGER_NAME, Ledger
from steeplechase.ledger.paths import ResultPaths

if TYPE_CHECKING:
    from steeplechase.ledger.task_standing import TaskStanding


def reference_notes(experiment: Experiment, known: "Mapping[str, TaskStanding]") -> Iterator[str]:
    """Yield on which tasks no verdict rests by what is known of them, and of which nothing is known yet."""
    tasks = experiment.fine_tuning.tasks if experiment.has_trials else ()
    for task, standing in known.items():
        if standing.below:
            yield (
                f"{task}: no verdict rests on it by the results so far: the mean over all arms, {standing.mean:.1f}, "
                f"does not significantly exceed {standing.missed_text}"
            )
    if unknown := [task for task in tasks if task not in known]:
        yield (
            f"{', '.join(unknown)}: a verdict rests on a task only where the mean over all arms exceeds each of its "
            "references, which is known once arms are fine-tuned"
        )


def standings_in(experiment: Experiment, places: ResultPaths) -> "Mapping[str, TaskStanding]":
    """Return the standings with a spread to test with, of the tasks that a results folder has values of."""
    if not (places.folder / LEDGER_NAME).is_file():
        return {}
    from steeplechase.ledger.snapshot import snapshot
    from steeplechase.ledger.task_standing import task_standings

    with closing(Ledger.at(places.folder)) as ledger:
        if ledger.fact("identity") is None:
            return {}
        found = task_standings(snapshot(ledger), experiment.fine_tuning.tasks, experiment.fine_tuning.primary_metric)
    return {task: standing for task, standing in found.items() if standing.known}


def generator_notes(experiment: Experiment, shared: SharedStages, convention: Convention) -> Iterator[str]:
    """Yield what the training of a generator costs that corrupts the evaluation set."""
    architecture = experiment.baseline.architecture
    training = experiment.baseline.train_flops(experiment.pretraining.tokens, architecture, convention)
    for stage in shared.by_label.values():
        declaration = stage.declaration
        if isinstance(declaration, EvaluationSetStage) and declaration.trained is not None:
            generator, tokens = declaration.trained, declaration.generator_tokens
            flops = generator.train_flops(tokens, generator.architecture, convention)
            yield (
                f"evaluation set: a generator of {generator.parameters:,} parameters is trained first, on {tokens:,} "
                f"tokens (pretraining.reference_generator_tokens): {flops / training:,.2f} times the FLOPs of a "
                "training of the baseline"
            )


def most_finalists(experiment: Experiment) -> int:
    """Return the largest number of finalists: those that are asked for, or the candidates where there are fewer."""
    search = experiment.search
    if search is None or search.finalists is None:
        return 0
    asked = asked_candidates(experiment, search)
    points = possible_points(experiment, search, asked)
    listed = len(experiment.arm_table.arms) - 1
    return min(search.finalists.count, listed + (asked if points is None else min(asked, points)))


def final_notes(experiment: Experiment) -> Iterator[str]:
    """Yield which trainings follow a search."""
    search = experiment.search
    if search is None or search.finalists is None:
        return
    count, ablated, seeds = most_finalists(experiment), most_ablation_arms(search), search.finalists.seeds
    asked = search.finalists.count
    fewer = f" (of {asked} asked for; there can be no more candidates)" if count < asked else ""
    arms = f"{count} finalist{'s' if count > 1 else ''}{fewer} and the baseline"
    if ablated:
        arms += f", then at most {ablated} arms that ablate the winner ({search.ablate_winner})"
    elif search.ablate_winner is not None:
        arms += ", with nothing to ablate since one axis varies"
    trainings = (count + 1 + ablated) * seeds
    yield f"then {arms}, at {seeds} seeds that it has not used: {trainings} full trainings at most"


def score_notes(experiment: Experiment) -> Iterator[str]:
    """Yield that a search by score or by a probe goes by tasks above their references alone, and what else by."""
    search, probe = experiment.search, experiment.pretraining.hurdle.rung_probe
    if search is not None and SCORE in search.objectives:
        instead = objectives_in_effect(search.objectives, (), experiment.pretraining.losses_compare)
        without = f"goes by {' and '.join(instead)}" if instead else "draws uniformly and has no finalists"
        yield f"the score counts only tasks above their references; while there is none, the search {without}"
        if len(experiment.fine_tuning.untrained_seeds) < 2 and len(first_seeds(experiment.pretraining.seeds)) < 2:
            yield (
                "with one seed and fewer than two untrained encoders no task can be tested against its references, "
                "and every task counts. Write fine_tuning.untrained_seeds: [1, 2]"
            )
    if search is not None and probe is not None:
        yield (
            f"hurdles by {probe.task} stop a trial only by a threshold above its references; otherwise every "
            "candidate that has set no hurdle is trained to the end"
        )


def final_stages(experiment: Experiment, shared: SharedStages) -> Iterator[Stage]:
    """Yield the stages of the final comparison, as many as there can be, each arm at the baseline's size."""
    search = experiment.search
    if search is None or search.finalists is None:
        return
    settings, first = final_settings(experiment), max(first_seeds(experiment.pretraining.seeds)) + 1
    for seed in range(first, first + search.finalists.seeds):
        stages = [*shared.of_trial(settings, experiment.baseline, seed).values()]
        yield from stages * (most_finalists(experiment) + 1 + most_ablation_arms(search))
