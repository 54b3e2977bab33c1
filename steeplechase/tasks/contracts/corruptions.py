"""Contracts of corruptions: what a declaration and its module promise about a source and its target.

An option in `search_space/corruption` is applied to texts of several lengths, in this repository and in plugins, at
each of its `examples`; the model that it trains keeps the contracts of `candidates`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields

import numpy as np

from search_space.corruption.option import Context, Corrupted, CorruptionOption
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.models.contract import Broken, Outcome, outcomes_of
from steeplechase.tasks.contracts.small_candidates import WORDS
from steeplechase.tasks.vocabulary import SPECIAL_TOKENS

LENGTHS = (1, 2, 3, 7, 14, 40)
SEEDS = range(8)


def corruption_contracts(option: CorruptionOption, title: str) -> Iterator[Outcome]:
    """Yield the outcome of every contract for a corruption with its settings."""
    yield from outcomes_of(CONTRACTS, option, title)


def row_is_a_function_of_its_stream(option: CorruptionOption) -> None:
    """Corrupt the same text twice with equal random streams; the text is read only."""
    for tokens, seed in _texts():
        before = tokens.copy()
        first, again = _corrupted(option, tokens, seed), _corrupted(option, tokens, seed)
        if not np.array_equal(before, tokens):
            raise Broken("corrupted() changes the tokens of its text")
        if not all(np.array_equal(getattr(first, each.name), getattr(again, each.name)) for each in fields(first)):
            raise Broken(f"two corruptions of {len(tokens)} tokens with the same random stream differ")


def predictions_are_those_declared(option: CorruptionOption) -> None:
    """Compare the declared number of predictions, by which losses are averaged, with the targets."""
    for tokens, seed in _texts():
        found = int((_corrupted(option, tokens, seed).targets != NOT_PREDICTED).sum())
        if found != (declared := option.predictions(len(tokens))):
            raise Broken(f"predictions of {len(tokens)} tokens: declared {declared}, found {found}")


def steps_are_whole(option: CorruptionOption) -> None:
    """Check that each step has an input, a place and a target, and each token is in the vocabulary."""
    for tokens, seed in _texts():
        row = _corrupted(option, tokens, seed)
        if len({len(row.inputs), len(row.places), len(row.targets)}) > 1:
            raise Broken(f"inputs, places, targets: {len(row.inputs)}, {len(row.places)}, {len(row.targets)} steps")
        if (row.places < 0).any() or (row.places > len(tokens)).any():
            raise Broken(
                f"places of a text of {len(tokens)} tokens are from {row.places.min()} to {row.places.max()}"
            )
        shown = {"source": row.source, "inputs": row.inputs, "targets": row.targets[row.targets != NOT_PREDICTED]}
        for name, each in shown.items():
            if (each < 0).any() or (each >= WORDS.vocabulary_size).any():
                raise Broken(
                    f"{name}: {each.min()} to {each.max()}; the vocabulary has {WORDS.vocabulary_size} tokens"
                )


def no_step_reads_its_target(option: CorruptionOption) -> None:
    """Replace each token in turn: up to the first step whose target changes, the decoder's inputs do not."""
    for tokens, seed in _texts():
        row = _corrupted(option, tokens, seed)
        for place in range(len(tokens)):
            changed = tokens.copy()
            changed[place] = len(SPECIAL_TOKENS) + (tokens[place] + 1) % (WORDS.vocabulary_size - len(SPECIAL_TOKENS))
            other = _corrupted(option, changed, seed)
            if len(other.targets) != len(row.targets):
                continue  # the drawn lengths depend on the tokens, so that the steps of both are not the same
            steps = np.flatnonzero(row.targets != other.targets)
            seen = np.flatnonzero(row.inputs != other.inputs)
            if len(steps) and len(seen) and seen[0] <= steps[0]:
                raise Broken(f"the input of step {seen[0]} shows the target of step {steps[0]}")


CONTRACTS: Mapping[str, Callable[[CorruptionOption], None]] = {
    "a row is a function of its text and the random stream": row_is_a_function_of_its_stream,
    "predictions are those declared": predictions_are_those_declared,
    "each step has an input, a place and a target": steps_are_whole,
    "no step reads its target": no_step_reads_its_target,
}
"""By what `check` prints."""


def _texts() -> Iterator[tuple[Numbers, int]]:
    """Yield texts of every length, with [SEP] behind every fifth token, and a seed for each."""
    for length in LENGTHS:
        for seed in SEEDS:
            tokens = np.random.default_rng(seed).integers(len(SPECIAL_TOKENS), WORDS.vocabulary_size, length)
            tokens[4::6] = WORDS.separate
            yield tokens, seed


def _corrupted(option: CorruptionOption, tokens: Numbers, seed: int) -> Corrupted:
    return option.corrupted(tokens, Context(WORDS, np.random.default_rng(seed)))
