"""The learned vocabulary: a small corpus gives WordPiece fewer pieces than the architecture has embeddings."""

from collections.abc import Iterable, Iterator

from reports.section import Section
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.stage_results import TokensResult
from steeplechase.tasks.tokenizer import WordPieceTraining

TERM = "Vocabulary"


def vocabulary_notes(experiment: Experiment, shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield both numbers where a vocabulary that was learned has fewer pieces than asked for."""
    if not isinstance(experiment.tokenizer, WordPieceTraining) or experiment.pretraining.init_checkpoint:
        return
    asked = experiment.baseline.architecture.vocabulary_size
    for _, result in with_results(shared, TokensResult):
        learned = result.vocabulary_size
        if learned < asked:
            text = f"the corpus gives {learned:,} pieces and architecture.vocabulary_size is {asked:,}"
            cost = f"{asked - learned:,} embeddings have no piece, and count among the parameters"
            yield TERM, f"{text}: {cost}. Write vocabulary_size: {learned}, or take a larger corpus"


SECTION = Section(
    "vocabulary",
    conditions=lambda results: vocabulary_notes(results.experiment, results.snapshot.shared),
)
