"""The first cohort of an experiment in its ledger, without the computation of what its trials share."""

from runners.dag import shared_stages
from runners.journal import Journal
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.artifacts import ArtifactStore
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.records import Record, Status


def declare_first_cohort(experiment: Experiment, store: ArtifactStore, ledger: Ledger) -> Journal:
    """Write the arms and trials that enter first, as if every shared stage had ended."""
    journal = Journal(experiment, shared_stages(experiment), store, ledger)
    for task in journal.state.shared_pending:
        key, kind = task.stage.key, task.stage.kind
        journal.state.apply(Record(0, None, kind, task.label, key, Status.FINISHED, {}, 0.0, True))
    journal.decide_next()
    return journal
