"""The experiment of a ledger, parsed from the document in the ledger."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import ValidationError

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.metrics import SCORE
from steeplechase.foundation.errors import CorruptionError
from steeplechase.foundation.recorded import Recorded
from steeplechase.foundation.schema import JsonValue

ModelT = TypeVar("ModelT", bound=Recorded)


def experiment_of(document: Mapping[str, JsonValue]) -> Experiment:
    """Return the resolved experiment. Raises CorruptionError for a document with other fields."""
    return document_as(Experiment, document)


def document_as(model: type[ModelT], document: Mapping[str, JsonValue]) -> ModelT:
    """Return a ledger's document as an experiment. Raises CorruptionError for a document with other fields."""
    try:
        return model.of_record(dict(document))
    except ValidationError as fault:
        fields = (f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in fault.errors())
        remedy = "the version of steeplechase that wrote the ledger can report on it"
        raise CorruptionError(
            f"the ledger's experiment document cannot be read by this version ({'; '.join(fields)}); {remedy}"
        ) from fault


def margins_of(experiment: Experiment) -> Mapping[str, float]:
    """Return the equivalence margin by metric; the experiment's own overrides the paper's."""
    seeds, paper = experiment.pretraining.seeds, experiment.paper
    sequential = {} if isinstance(seeds, tuple) else seeds.until_decided.margin
    margins = {**(paper.margins if paper else {}), **sequential, **experiment.equivalence_margin}
    return _with_single_task(margins, experiment.fine_tuning.tasks)


def paper_margins_of(experiment: Experiment) -> Mapping[str, float]:
    """Return the margin of "about level" in the paper's orderings, by metric."""
    return _with_single_task(experiment.paper.margins if experiment.paper else {}, experiment.fine_tuning.tasks)


def _with_single_task(margins: Mapping[str, float], tasks: Sequence[str]) -> Mapping[str, float]:
    """Return the margins, the score's for a single task, whose metric replaces the score."""
    return {tasks[0]: margins[SCORE], **margins} if len(tasks) == 1 and SCORE in margins else margins
