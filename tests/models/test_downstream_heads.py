"""Heads of multiple choice and tagging: equivariance, gradients, and equality with transformers' models."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from search_space.architecture import Architecture
from search_space.convolution import NoConvolution
from steeplechase.models.downstream_model import FineTuned, build_fine_tuned
from steeplechase.models.heads.classification import NO_TAG, ChoiceHead, TagHead
from steeplechase.models.huggingface.weight_names import encoder_pairs, from_transformers
from steeplechase.models.initialisation import initialise
from tests.factories.small_experiments import architecture, convolutions, stir

ENDINGS, BATCH, LENGTH = 4, 3, 9
PLAIN = Architecture(
    depth=2,
    width=32,
    embedding_width=32,
    heads=4,
    convolution=NoConvolution(),
    feed_forward_width=64,
    vocabulary_size=50,
    positions=24,
)


def built(form: Any, outputs: int, chosen: Architecture | None = None, seed: int = 1) -> FineTuned:
    model = build_fine_tuned(chosen or architecture(convolutions()[-1]), form, outputs, "first", 0.0)
    initialise(model, seed)
    stir(model, seed)
    return model.eval()


def inputs(sequences: int, vocabulary: int = 40) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(5, vocabulary, (sequences, LENGTH), generator=generator)
    segments = (torch.arange(LENGTH) > 4).long().expand(sequences, -1)
    lengths = torch.randint(4, LENGTH + 1, (sequences,), generator=generator)
    return tokens, segments, torch.arange(LENGTH)[None] < lengths[:, None]


def test_only_first_subwords_have_a_loss_and_none_at_all_is_zero() -> None:
    model = built("tags", 3)
    tokens, segments, mask = inputs(BATCH)
    tags = torch.full((BATCH, LENGTH), NO_TAG)
    assert model.loss(tokens, segments, mask, tags).item() == 0.0
    tags[0, 1], tags[2, 2] = 1, 2
    logits = model(tokens, segments, mask)
    expected = cross_entropy(torch.stack([logits[0, 1], logits[2, 2]]), torch.tensor([1, 2]))
    assert torch.allclose(model.loss(tokens, segments, mask, tags), expected)


def reference(name: str, **settings: Any) -> Any:
    """Return a model of transformers with random weights, in evaluation mode, whose encoder is that of PLAIN."""
    transformers = pytest.importorskip("transformers", reason="the reference models are in the development extra")
    config = transformers.BertConfig(
        vocab_size=PLAIN.vocabulary_size,
        hidden_size=PLAIN.width,
        num_hidden_layers=PLAIN.depth,
        num_attention_heads=PLAIN.heads,
        intermediate_size=PLAIN.feed_forward_width,
        max_position_embeddings=PLAIN.positions,
        type_vocab_size=PLAIN.segments,
        attn_implementation="eager",
        **settings,
    )
    model = getattr(transformers, name)(config)
    stir(model, 3)
    return model.eval()


def with_their_weights(form: Any, outputs: int, theirs: Any) -> FineTuned:
    ours = build_fine_tuned(PLAIN, form, outputs, "first", 0.0).eval()
    pairs = encoder_pairs(PLAIN)
    state = {name: value for name, value in theirs.bert.state_dict().items() if not name.startswith("pooler.")}
    ours.encoder.load_state_dict(from_transformers(state, pairs))
    linear = ours.head.score.labels if isinstance(ours.head, ChoiceHead) else ours.head.tags
    assert isinstance(ours.head, ChoiceHead | TagHead)
    linear.load_state_dict(theirs.classifier.state_dict())
    return ours


class ClassifyVector(torch.nn.Module):
    """The [CLS] vector in place of BERT's pooler, a dense layer that the head of ELECTRA's release does not have."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0]


def test_a_multiple_choice_has_the_logits_and_the_loss_of_transformers() -> None:
    theirs = reference("BertForMultipleChoice")
    theirs.bert.pooler = ClassifyVector()
    ours = with_their_weights("choice", ENDINGS, theirs)
    tokens, segments, mask = inputs(BATCH * ENDINGS)
    labels = torch.tensor([2, 0, 3])
    shape = (BATCH, ENDINGS, LENGTH)
    with torch.inference_mode():
        expected = theirs(
            input_ids=tokens.view(shape),
            token_type_ids=segments.reshape(shape),
            attention_mask=mask.long().view(shape),
            labels=labels,
        )
        assert torch.allclose(ours(tokens, segments, mask), expected.logits, atol=1e-5)
        assert torch.allclose(ours.loss(tokens, segments, mask, labels[:, None]), expected.loss, atol=1e-5)


def test_tagging_has_the_logits_and_the_loss_of_transformers() -> None:
    theirs = reference("BertForTokenClassification", num_labels=5)
    ours = with_their_weights("tags", 5, theirs)
    tokens, segments, mask = inputs(BATCH)
    tags = torch.where(
        torch.rand(BATCH, LENGTH, generator=torch.Generator().manual_seed(4)) < 0.5, NO_TAG, tokens % 5
    )
    with torch.inference_mode():
        expected = theirs(input_ids=tokens, token_type_ids=segments, attention_mask=mask.long(), labels=tags)
        assert torch.allclose(ours(tokens, segments, mask)[mask], expected.logits[mask], atol=1e-5)
        assert torch.allclose(ours.loss(tokens, segments, mask, tags), expected.loss, atol=1e-5)


def test_an_encoder_with_one_segment_reads_pairs_of_texts_as_one() -> None:
    """As RoBERTa, which has no second segment."""
    sizes = architecture(convolutions()[-1]).model_copy(update={"segments": 1})
    model = build_fine_tuned(sizes, "pair", 2, "first", 0.0).eval()
    initialise(model, 1)
    tokens = torch.arange(8)[None] + 5
    segments = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1]])
    mask = torch.ones(1, 8, dtype=torch.bool)
    assert torch.equal(model(tokens, segments, mask), model(tokens, torch.zeros_like(segments), mask))
