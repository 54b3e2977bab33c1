"""The vocabulary: fewer pieces than the architecture has embeddings, and how much of the text it does not know."""

from collections.abc import Iterable, Iterator

from reports.section import Section
from steeplechase.configuration.experiment import Experiment
from steeplechase.ledger.records import Record, with_results
from steeplechase.ledger.stage_results import TokensResult
from steeplechase.tasks.tokenizer import WordPieceTraining

TERM = "Vocabulary"
MUCH_UNKNOWN = 0.005
"""Share of [UNK] among the tokens from which on it is told; the vocabularies of the published reports have 0.01%."""


def vocabulary_notes(experiment: Experiment, shared: Iterable[Record]) -> Iterator[tuple[str, str]]:
    """Yield what is missing in the vocabulary: pieces that were asked for, words of the text."""
    for _, result in with_results(shared, TokensResult):
        if isinstance(experiment.tokenizer, WordPieceTraining) and not experiment.pretraining.init_checkpoint:
            yield from _missing_pieces(experiment.baseline.architecture.vocabulary_size, result.vocabulary_size)
        yield from _unknown(result)


def _missing_pieces(asked: int, learned: int) -> Iterator[tuple[str, str]]:
    """Yield both numbers where a small corpus gave a vocabulary fewer pieces than asked for."""
    if learned < asked:
        text = f"the corpus gives {learned:,} pieces and architecture.vocabulary_size is {asked:,}"
        cost = f"{asked - learned:,} embeddings have no piece, and count among the parameters"
        yield TERM, f"{text}: {cost}. Write vocabulary_size: {learned}, or take a larger corpus"


def _unknown(result: TokensResult) -> Iterator[tuple[str, str]]:
    """Yield the share of tokens that are [UNK], which are predicted and count in the held-out loss."""
    shares = [part.unknown / max(1, part.tokens) for part in (result.train, result.validation)]
    if max(shares) >= MUCH_UNKNOWN:
        train, held_out = shares
        found = f"{train:.1%} of the training tokens and {held_out:.1%} of the held-out tokens are [UNK]"
        remedy = "A larger vocabulary_size has fewer, tokenizer: byte_bpe has none"
        yield TERM, f"{found}, which is predicted as any token is and counts in the loss. {remedy}"


SECTION = Section(
    "vocabulary",
    conditions=lambda results: vocabulary_notes(results.experiment, results.snapshot.shared),
)
