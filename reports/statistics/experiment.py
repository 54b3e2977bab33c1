"""The experiment of a ledger, parsed from the document in the ledger."""

import json
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from configuration.experiment import Experiment
from configuration.metrics import SCORE
from foundation.errors import CorruptionError
from foundation.schema import JsonValue

ModelT = TypeVar("ModelT", bound=BaseModel)


def experiment_of(document: Mapping[str, JsonValue]) -> Experiment:
    """Return the resolved experiment. Raises CorruptionError for a document with other fields."""
    return document_as(Experiment, document)


def document_as(model: type[ModelT], document: Mapping[str, JsonValue]) -> ModelT:
    """Return a ledger's document as an experiment. Raises CorruptionError for a document with other fields."""
    try:
        return model.model_validate_json(json.dumps(document))
    except ValidationError as fault:
        fields = (f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in fault.errors())
        remedy = "the version of steeplechase that wrote the ledger can report on it"
        raise CorruptionError(
            f"the ledger's experiment document cannot be read by this version ({'; '.join(fields)}); {remedy}"
        ) from fault


def margins_of(experiment: Experiment) -> Mapping[str, float]:
    """Return the equivalence margin by metric; the experiment's own overrides the paper's."""
    seeds, paper, tasks = experiment.pretraining.seeds, experiment.paper, experiment.fine_tuning.tasks
    sequential = {} if isinstance(seeds, tuple) else seeds.until_decided.margin
    margins = {**(paper.margins if paper else {}), **sequential, **experiment.equivalence_margin}
    if len(tasks) == 1 and SCORE in margins:  # with a single task its metric replaces the score
        margins.setdefault(tasks[0], margins[SCORE])
    return margins
