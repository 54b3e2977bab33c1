"""All results of an experiment by arm, metric and seed, with effects and comparisons computed on demand."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from reports.number_format import decimals_for
from reports.statistics.cell_test import CellTest
from reports.statistics.comparisons import Cell, Comparison, compare
from reports.statistics.contrasts import Contrasts, SampledExamples, Weights, sampled_examples
from reports.statistics.experiment import margins_of
from reports.statistics.learning import Learning, partly, share_of_a_family, too_few
from reports.statistics.metrics import Metric, in_place_of_score
from steeplechase.analysis.difference import ALPHA, Difference, Effect, MeanTest
from steeplechase.analysis.effects import effect
from steeplechase.analysis.estimates import Estimates
from steeplechase.analysis.group_sequential import Looks
from steeplechase.configuration.arm import BASELINE
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import DESCRIPTIONS, HELD_OUT_LOSS, SCORE, PrimaryMetric
from steeplechase.configuration.seeds import first_seeds, looks_of
from steeplechase.ledger.example_tables import ExampleTable
from steeplechase.ledger.metrics import ArmValues, NestedArmValues, means_of
from steeplechase.ledger.records import ArmRow, TrialStatus, shared_evaluation_set
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.task_standing import TaskStanding, tasks_in_score
from steeplechase.ledger.trial_history import TrialHistory

T = TypeVar("T")


@dataclass(frozen=True)
class Results:
    """The results from which tables, finding and figures take their numbers."""

    snapshot: Snapshot
    experiment: Experiment
    """The resolved experiment."""
    primary: PrimaryMetric
    """Primary metric by task."""
    arms: tuple[ArmRow, ...]
    """The baseline first."""
    metrics: tuple[Metric, ...]
    """The tested metrics; no score of a single task, whose values are the task's."""
    nested: NestedArmValues
    """Of the seeds that left the plateau of their loss."""
    trials: Mapping[str, tuple[TrialHistory, ...]]
    """Trials by arm, in the order of the seeds."""
    standings: Mapping[str, TaskStanding] = field(default_factory=dict)
    """Of the tasks that have references and values."""
    example_tables: Mapping[str, ExampleTable] = field(default_factory=dict)
    """Losses and scores of single examples by metric, where they were kept."""
    learning: Mapping[str, Learning] = field(default_factory=dict)
    """By arm, which seeds left the plateau of the loss; empty where there is none."""
    measured: NestedArmValues = field(default_factory=dict)
    """Every measured value, those of seeds on their plateau too."""
    own_recipes: "Results | None" = None
    """The results with each arm at the recipe that tuning selected for it; None before the selection."""
    _answers: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, ask: "Callable[[Results], T]") -> T:
        """Return what a function of the results returns, computed the first time it is asked for."""
        if ask not in self._answers:
            self._answers[ask] = ask(self)
        found: T = self._answers[ask]
        return found

    @property
    def is_search(self) -> bool:
        """Whether one of the designs proposes candidates from the results of earlier ones."""
        return self.experiment.search is not None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks in alphabetical order."""
        return tuple(sorted(self.experiment.fine_tuning.tasks))

    @cached_property
    def below_reference(self) -> tuple[str, ...]:
        """The tasks on which the mean over all arms does not exceed every reference; they are not in the score."""
        return tuple(task for task, standing in self.standings.items() if standing.below)

    @cached_property
    def margins(self) -> Mapping[str, float]:
        """Equivalence margin by metric."""
        return margins_of(self.experiment)

    @property
    def test(self) -> MeanTest:
        """The test that decides, as the experiment declares it."""
        return self.experiment.comparison

    @cached_property
    def values(self) -> ArmValues:
        """One value per arm, metric and pretraining seed that left the plateau of its loss."""
        return means_of(self.nested)

    @cached_property
    def measured_values(self) -> ArmValues:
        """One value per arm, metric and pretraining seed, on its plateau or not."""
        return means_of(self.measured)

    @cached_property
    def partly_learning(self) -> Mapping[str, Learning]:
        """The arms of which not every seed left the plateau, in the table's order."""
        return partly((arm.name for arm in self.arms), self.learning)

    @cached_property
    def none_learns(self) -> bool:
        """Whether every measured seed of every arm stayed on the plateau of the loss."""
        measured = [arm.name for arm in self.arms if any(self.measured.get(arm.name, {}).values())]
        return bool(measured) and all(arm in self.learning and not self.learning[arm].left for arm in measured)

    @cached_property
    def share_of_a_family(self) -> float:
        """The share of the level of the tests of means, and of those of how many seeds learn."""
        shown = (arm.name for arm in self.arms if arm.name in self.learning)
        return share_of_a_family({arm: self.learning[arm] for arm in shown})

    def effect(self, arm: str, metric: Metric) -> Effect:
        """Return one arm's effect on one metric."""
        return self._effects[arm, metric.name]

    @cached_property
    def _effects(self) -> Mapping[tuple[str, str], Effect]:
        baseline = self.values.get(BASELINE, {})
        found = {
            (arm, metric.name): effect(
                by_metric.get(metric.name, {}),
                None if arm == BASELINE else baseline.get(metric.name, {}),
                self.confidence(arm),
                self.test,
            )
            for arm, by_metric in self.values.items()
            for metric in (*self.metrics, *self.descriptions)
        }
        for arm, name in found if baseline else ():
            if arm != BASELINE and self.examples(name):
                over = self.difference(arm, BASELINE, Metric(name))
                found[arm, name] = replace(found[arm, name], difference=over)
        return found

    @cached_property
    def descriptions(self) -> tuple[Metric, ...]:
        """Measured quantities without a better direction."""
        measured = {metric for by_metric in self.measured.values() for metric in by_metric}
        return tuple(Metric(name) for name in DESCRIPTIONS if name in measured)

    def difference(self, arm: str, reference: str, metric: Metric) -> Difference:
        """Return the difference of an arm to a reference arm on one metric."""
        return self.contrast({arm: 1.0, reference: -1.0}, metric)

    def contrast(self, weights: Weights, metric: Metric) -> Difference:
        """Return a weighted sum of arms on one metric, at the confidence level of the arms' look."""
        return self.contrasts.difference(weights, metric.name, max(map(self.confidence, weights)))

    def estimate(self, arm: str, reference: str, metric: Metric) -> Estimates:
        """Return the difference of an arm to a reference arm as an estimate; NaN with too few seeds."""
        return self.contrasts.estimate({arm: 1.0, reference: -1.0}, metric.name)

    @cached_property
    def contrasts(self) -> Contrasts:
        """Weighted sums of arms, over seeds and the examples whose values were kept."""
        return Contrasts(self.values, self.examples, self.test)

    def examples(self, metric: str) -> tuple[SampledExamples, ...]:
        """Return the sets of examples of a metric whose values were kept."""
        return self._examples.get(metric, ())

    @cached_property
    def scored_tasks(self) -> tuple[str, ...]:
        """The tasks that the score is the mean of: those that are not below a reference."""
        return tasks_in_score(self.tasks, self.standings)

    @cached_property
    def _examples(self) -> Mapping[str, tuple[SampledExamples, ...]]:
        scored, size = self.scored_tasks, self.predictions_per_sequence
        names = [metric.name for metric in self.metrics]
        return {name: sampled_examples(name, self.example_tables, scored, self.primary, size) for name in names}

    def without_examples(self, arms: Iterable[str], metric: Metric) -> tuple[str, ...]:
        """Return the tasks in a score, and the arms, of which no values of single examples of a metric were kept."""
        scored = self.scored_tasks if metric.name == SCORE else ()
        tasks = [task for task in scored if not self.examples(task)]
        return (*tasks, *(arm for arm in arms if not all(each.has(arm) for each in self.examples(metric.name))))

    def over_seeds_alone(self, arms: Iterable[str], metric: Metric) -> bool:
        """Whether an interval of these arms lacks the sampling error of examples that the metric is measured on."""
        return not self.examples(metric.name) or bool(self.without_examples(arms, metric))

    @cached_property
    def predictions_per_sequence(self) -> int:
        """The number of held-out predictions in each sequence; 1 where the evaluation set's size is not known."""
        found = shared_evaluation_set(self.snapshot.shared)
        return 1 if found is None else found.questions // found.sequences

    @cached_property
    def matched_arms(self) -> Mapping[str, str]:
        """Budget-matched copy by arm; several arms may share one."""
        return {arm.name: arm.matched_arm for arm in self.arms if arm.matched_arm is not None}

    def comparison(self, arm: str, metric: Metric) -> Comparison:
        """Return the comparison of an arm with the baseline on one metric."""
        return self._comparisons[arm, metric.name]

    @cached_property
    def _comparisons(self) -> Mapping[Cell, Comparison]:
        cells = {cell: self._cell_test(*cell) for family in self.families for cell in family}
        return compare(cells, self.families, self.looks, self.share_of_a_family)

    def _cell_test(self, arm: str, name: str) -> CellTest:
        values, baseline = (self.values.get(name_of_arm, {}).get(name, {}) for name_of_arm in (arm, BASELINE))
        over = self.contrasts.over_examples({arm: 1.0, BASELINE: -1.0}, name)
        metric, share = Metric(name), self._share(arm) * self.share_of_a_family
        few = any(self.too_few_learn(each, name) for each in (arm, BASELINE))
        untestable = metric.task in self.below_reference or few
        return CellTest(metric, values, baseline, self.margins.get(name), share, self.test, over, untestable)

    def too_few_learn(self, arm: str, name: str) -> bool:
        """Whether too few seeds of an arm learned to compare it on a metric."""
        return too_few(self.partly_learning.get(arm), self.values.get(arm, {}).get(name, {}))

    @cached_property
    def families(self) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
        """The two families of tests: cells of the headline metrics, the gate's first, and all further cells."""
        arms = [arm.name for arm in self.arms if arm.name != BASELINE]
        further = [metric for metric in self.metrics if metric not in self.headlines]
        return (
            tuple((arm, metric.name) for metric in self.headlines for arm in arms),
            tuple((arm, metric.name) for metric in further for arm in arms),
        )

    @property
    def looks(self) -> Looks:
        """The looks of the group-sequential design."""
        return looks_of(self.experiment.pretraining.seeds)

    def confidence(self, arm: str) -> float:
        """Return the confidence level of an arm's intervals: 95%, or more in a group-sequential design."""
        return 1 - ALPHA * self._share(arm)

    def diverged(self, arm: str) -> tuple[int, int]:
        """Return the number of an arm's diverged trials, and of its diverged or finished trials."""
        statuses = [history.status for history in self.trials.get(arm, ())]
        ended = [status for status in statuses if status in (TrialStatus.FINISHED, TrialStatus.DIVERGED)]
        return ended.count(TrialStatus.DIVERGED), len(ended)

    def _share(self, arm: str) -> float:
        """Return the share of α spent with an arm's number of seeds that have ended, as `next_seeds` counts them."""
        return self.looks.share(self.diverged(arm)[1])

    def decimals(self, metric: Metric) -> int:
        """Return the number of decimals of a metric in the whole report, by its standard deviation over seeds."""
        return self._decimals.get(metric.name) or decimals_for((), fallback=3 if metric.name == HELD_OUT_LOSS else 1)

    @cached_property
    def _decimals(self) -> Mapping[str, int]:
        spreads: dict[str, list[float | None]] = {}
        for (_, name), found in self._effects.items():
            spreads.setdefault(name, []).append(found.sd)
        return {name: decimals_for(of, 3 if name == HELD_OUT_LOSS else 1) for name, of in spreads.items()}

    @cached_property
    def shown(self) -> tuple[Metric, ...]:
        """The displayed metrics: the primary one of each task. Tasks below a reference come last."""
        found = (metric for metric in self.metrics if not metric.further)
        return tuple(sorted(found, key=lambda metric: metric.name in self.below_reference))

    @cached_property
    def headlines(self) -> tuple[Metric, ...]:
        """The metrics of the finding: the declared ones of held-out loss and score, or the only task as the score.

        A task below a reference is none, nor the score where every task is.
        """
        declared = {in_place_of_score(name, self.tasks) for name in self.experiment.headline_metrics}
        return tuple(m for m in self.shown if m.name in declared and m.name not in self.below_reference)

    @cached_property
    def measured_headlines(self) -> tuple[Metric, ...]:
        """The headline metrics that at least one arm has a value on."""
        return tuple(metric for metric in self.headlines if self.means(metric))

    def means(self, metric: Metric) -> dict[str, float]:
        """Return the mean of every arm that has one."""
        means = {arm.name: self.effect(arm.name, metric).mean for arm in self.arms}
        return {arm: mean for arm, mean in means.items() if mean is not None}

    @property
    def replicates(self) -> str:
        """What n counts: the runs whose values differ by chance."""
        return "pretraining seeds" if self.experiment.pretrains else "fine-tuning seeds of one checkpoint"

    @property
    def seeds_in_all(self) -> int:
        """Planned pretraining seeds of every arm; undecided arms may get more."""
        return len(first_seeds(self.experiment.pretraining.seeds))
