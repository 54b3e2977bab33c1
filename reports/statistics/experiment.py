"""The experiment behind a ledger, parsed once from the document that the ledger holds."""

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
    """Return the experiment as it was resolved. Raises CorruptionError for a document with other fields."""
    return document_as(Experiment, document)


def document_as(model: type[ModelT], document: Mapping[str, JsonValue]) -> ModelT:
    """Return a ledger's document as an experiment. Raises CorruptionError for a document with other fields."""
    try:
        return model.model_validate_json(json.dumps(document))
    except ValidationError as fault:
        places = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in fault.errors())
        remedy = "the version of steeplechase that wrote the ledger can report on it"
        raise CorruptionError(
            f"the ledger's experiment document cannot be read by this version ({'; '.join(places)}); {remedy}"
        ) from fault


def margins_of(experiment: Experiment) -> Mapping[str, float]:
    """Return by metric the largest difference that counts as none: the experiment's own margin before the paper's."""
    seeds, paper, tasks = experiment.pretraining.seeds, experiment.paper, experiment.fine_tuning.tasks
    sequential = {} if isinstance(seeds, tuple) else seeds.until_decided.margin
    margins = {**(paper.margins if paper else {}), **sequential, **experiment.equivalence_margin}
    if len(tasks) == 1 and SCORE in margins:  # the only task is the score
        margins.setdefault(tasks[0], margins[SCORE])
    return margins
