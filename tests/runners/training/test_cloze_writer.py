"""A stack trained on [MASK] as a writer of texts: what it reads, what it predicts, and its losses by brute force."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from runners.training.cloze_writer import ClozeModel, ClozeWriter, JoinedPairs, chosen_tokens
from runners.training.sequence_to_sequence import mean_target_loss
from search_space.architecture import Architecture
from steeplechase.models.attention_context import AttentionContext
from steeplechase.models.initialisation import initialise
from steeplechase.models.visible_tokens import visible_tokens
from steeplechase.tasks.labelled.text_pairs import EncodedTextPairs
from tests.factories.planted_text_pairs import planted_pairs
from tests.factories.small_experiments import WORDS, stir

SIZES: dict[str, Any] = {
    "depth": 2, "width": 32, "embedding_width": 24, "heads": 4, "feed_forward_width": 48, "positions": 32,
    "segments": 6, "vocabulary_size": WORDS.vocabulary_size,
}  # fmt: skip
ROWS = np.arange(4)


def writer(mask_share: float = 0.7, **changes: Any) -> ClozeWriter:
    model = ClozeModel(Architecture.model_validate({**SIZES, **changes}), 0.0)
    initialise(model, 1)
    stir(model)
    return ClozeWriter(model.eval(), WORDS, mask_share)


def unequal_pairs() -> EncodedTextPairs:
    """Return four pairs, of which two have a shorter target."""
    pairs = planted_pairs(4, 7, length=5)
    lengths = np.asarray([6, 3, 6, 2], np.int32)
    targets = np.where(np.arange(6) < lengths[:, None], pairs.targets, WORDS.pad).astype(np.int32)
    return replace(pairs, targets=targets, target_lengths=lengths)


@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=5), share=st.floats(0.01, 1.0), seed=st.integers(0, 99)
)
@settings(max_examples=50)
def test_a_share_of_the_allowed_tokens_is_chosen(lengths: list[int], share: float, seed: int) -> None:
    allowed = np.arange(30) < np.asarray(lengths)[:, None]
    chosen = chosen_tokens(allowed, share, np.random.default_rng(seed))
    assert not (chosen & ~allowed).any()
    assert chosen.sum(1).tolist() == [max(1, round(share * length)) for length in lengths]


@pytest.mark.parametrize("segments", [1, 6])
@torch.no_grad()
def test_losses_are_those_of_a_mask_at_each_place(segments: int) -> None:
    """By brute force: one pass for each token of each target, with the tokens before it and a [MASK]."""
    pairs, under_test = unequal_pairs(), writer(segments=segments)
    found = under_test.target_losses(pairs, ROWS)
    joined, expected = JoinedPairs.of(pairs, ROWS, WORDS.pad), []
    encoder = under_test.model.encoder
    for row, place in np.argwhere(joined.in_target).tolist():
        tokens = torch.from_numpy(joined.tokens[row : row + 1, : place + 1].copy())
        target, tokens[0, -1] = tokens[0, -1:].clone(), WORDS.mask
        source = int(joined.sources[row])
        visible = visible_tokens(["prefix"], place + 1, source, torch.device("cpu"))
        numbers = torch.tensor([[4] * source + [5] * (place + 1 - source)]) if segments == 6 else None
        state = encoder.read(tokens, numbers, None, AttentionContext(visible=visible))[:, -1]
        expected.append(cross_entropy(under_test.model.logits(state), target))
    assert (found - torch.stack(expected)).abs().max() < 1e-4
    assert mean_target_loss(under_test, pairs, [ROWS]) == pytest.approx(torch.stack(expected).mean().item(), rel=1e-4)


def test_the_training_loss_is_torch_s_over_the_masked_tokens() -> None:
    pairs, under_test = unequal_pairs(), writer(mask_share=1.0)
    joined = JoinedPairs.of(pairs, ROWS, WORDS.pad)
    seen = []
    original = under_test._states

    def states(inputs: np.ndarray, of: JoinedPairs) -> torch.Tensor:
        seen.append(inputs)
        return original(inputs, of)

    under_test._states = states  # type: ignore[method-assign]
    loss = under_test.training_loss(pairs, ROWS, 0.1, np.random.default_rng(1))
    (inputs,) = seen
    assert (inputs[~joined.in_target] == joined.tokens[~joined.in_target]).all(), "nothing else is masked"
    assert (inputs[joined.in_target] == WORDS.mask).mean() > 0.5
    places = torch.from_numpy(joined.in_target)
    logits = under_test.model.logits(original(inputs, joined)[places])
    expected = cross_entropy(logits, torch.from_numpy(joined.tokens[joined.in_target]), label_smoothing=0.1)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-4)


def test_sources_of_different_lengths_are_not_decoded_together() -> None:
    under_test = writer()
    lengths = np.asarray([3, 5, 3, 4, 5, 3], np.int32)
    batches = [rows.tolist() for rows in under_test.batches(lengths, 2)]
    assert sorted(row for rows in batches for row in rows) == [*range(6)]
    assert all(len(set(lengths[rows].tolist())) == 1 and len(rows) <= 2 for rows in batches)
    with pytest.raises(ValueError, match="sources of different lengths cannot be continued together"):
        under_test.decoding(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3, dtype=torch.bool), 1)
