"""Experiments within one: the tuning of its recipes, and the comparison of finalists at the end of a search.

The finalists are listed; the components of the ablation are the winner's changes, one per axis.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from search_space.candidate import Candidate
from search_space.layer_lists import list_in
from search_space.overrides import absolute_path, apply
from steeplechase.configuration.designs import Coalitions, LeaveOneOut, ListDesign, OneDesign
from steeplechase.configuration.designs.search import MEASURED, Ablation, Search, by_layer
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.hurdles.rungs import Finite, Rungs
from steeplechase.configuration.measurements import Measures
from steeplechase.foundation.schema import JsonValue

FINAL = "@final"
"""Ends the name in the ledger of an arm of the final comparison."""
OWN_FIELDS = ("architecture", "recipe", "fine_tuning")
"""Parts of a candidate whose fields are axes of their own; an option's fields go with the option."""
EVERY_SET_UP_TO, ORDERS = 5, 8
"""Components of which every set is an arm, 31 at most; of more the sets along this many random orders are."""

Changes = Mapping[str, JsonValue]


class Placed(Protocol):
    """An arm, or its row, by what tells whether it is of tuning or of a final comparison."""

    @property
    def tuning_trial_of(self) -> str | None:
        """Of a tuning trial: the arm that is tuned."""

    @property
    def final_of(self) -> str | None:
        """Of an arm of the final comparison: its name there."""


def settings_of(experiment: Experiment, arm: Placed) -> Experiment:
    """Return the settings that an arm's trials have: those of tuning trials and of the final comparison differ."""
    if arm.tuning_trial_of is not None:
        return tuning_view(experiment)
    return experiment if arm.final_of is None else final_settings(experiment)


def final_settings(experiment: Experiment) -> Experiment:
    """Return the settings without hurdle decisions; stages end at the rungs, so that searched ones are shared."""
    hurdle = experiment.pretraining.hurdle
    if isinstance(hurdle, Rungs):
        hurdle = hurdle.model_copy(update={"probe": None})
    pretraining = experiment.pretraining.model_copy(update={"hurdle": hurdle, "audit": None})
    return experiment.with_parts(pretraining=pretraining)


def final_experiment(
    experiment: Experiment,
    finalists: Mapping[str, Changes],
    seeds: tuple[int, ...],
    winner: str | None,
    ranked_by: tuple[str, ...] = (),
) -> Experiment:
    """Return the experiment of the final comparison, with the ablation once the winner is known.

    Its headline metrics are the measured objectives by which the finalists were chosen, `ranked_by`, or else those
    of the search. Sets of changes that break a rule of the architecture are left out.
    """
    settings, search = final_settings(experiment), experiment.search
    assert search is not None
    designs: list[OneDesign] = [ListDesign(arms=finalists)] if finalists else []
    if winner is not None and search.ablate_winner is not None:
        chosen = changes_by_axis(search, experiment.baseline, finalists[winner])
        designs += ablation_of(components_of(chosen), search.ablate_winner)
    pretraining = settings.pretraining.model_copy(update={"seeds": seeds})
    headlines = tuple(name for name in ranked_by or search.objectives if name in MEASURED)
    return settings.with_parts(
        pretraining=pretraining, design=tuple(designs), on_invalid="skip", headline_metrics=headlines
    )


def changes_by_axis(search: Search, baseline: Candidate, changes: Changes) -> Changes:
    """Return a candidate's changes with its lists of sizes by layer as values of their axes, not as one program."""
    lists = {path: list_in(str(changes.get("layers", "")), path) for path in search.space if by_layer(search, path)}
    found = {path: sizes for path, sizes in lists.items() if sizes is not None}
    others = {path: value for path, value in changes.items() if path not in (*found, "layers")}
    as_axes = {**others, **found}
    same = found and apply(baseline, as_axes) == apply(baseline, changes)  # not where the program has more
    return as_axes if same else changes


def most_ablation_arms(search: Search) -> int:
    """Return the largest number of arms that the ablation of a winner can have, with a change on every axis."""
    names = [*components_of(dict.fromkeys(search.space)), *search.structure]
    components, ablation = {name: {name: None} for name in names}, search.ablate_winner
    if ablation is None or len(components) < 2:
        return 0
    if ablation == "coalitions":  # the baseline and the winner are arms already
        sets = (1 << len(components)) - 2
        return sets if len(components) <= EVERY_SET_UP_TO else min(sets, ORDERS * (len(components) - 1))
    return len(components)


def ablation_of(components: Mapping[str, Changes], ablation: Ablation) -> list[OneDesign]:
    """Return the design of an ablation; none of a single component, which the winner itself is."""
    if len(components) < 2:
        return []
    if ablation == "one_factor":
        return [ListDesign(arms=components)]
    if ablation == "leave_one_out":
        return [LeaveOneOut(components=components)]
    return [Coalitions(components=components, orders=None if len(components) <= EVERY_SET_UP_TO else ORDERS)]


def components_of(changes: Changes) -> dict[str, dict[str, JsonValue]]:
    """Return a candidate's changes by axis: an option with its fields is one.

    Each has the name of its field; the part before it too where two parts have such a field.
    """
    components: dict[tuple[str, ...], dict[str, JsonValue]] = {}
    for path, value in changes.items():
        part, *fields = absolute_path(path)
        components.setdefault((part, fields[0]) if part in OWN_FIELDS and fields else (part,), {})[path] = value
    uses = Counter(axis[-1] for axis in components)
    return {axis[-1] if uses[axis[-1]] == 1 else ".".join(axis): each for axis, each in components.items()}


def tuning_view(experiment: Experiment) -> Experiment:
    """Return the experiment of the tuning trials; the given experiment must have `tune`."""
    tune = experiment.tune
    assert tune is not None
    tokens = tune.tokens or experiment.pretraining.tokens
    settings = {
        "tokens": tokens,
        "checkpoints": tuple(each for each in experiment.pretraining.checkpoints if each < tokens),
        "seeds": tune.seeds,
        "hurdle": Finite(),
        "audit": None,
    }
    tasks = experiment.fine_tuning.tasks if tune.metric == "score" else ()
    return experiment.model_copy(
        update={
            "pretraining": experiment.pretraining.model_copy(update=settings),
            "fine_tuning": experiment.fine_tuning.model_copy(update={"tasks": tasks}),
            "measure": Measures(),
            "tune": None,
        }
    )
