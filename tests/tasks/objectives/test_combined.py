"""Several auxiliary losses: one batch has the data of all, the loss is their sum, parts that do not fit fail."""

import numpy as np
import pytest
import torch

from search_space.candidate import Candidate
from search_space.objective import Combined, NextSentencePrediction, SentenceStructure, SpanBoundary, WordStructure
from search_space.objective.auxiliary_loss import AuxiliaryLoss
from search_space.selection import SpanGeometric
from steeplechase.tasks.objectives.auxiliary_loss import AuxiliaryBatch, AuxiliaryLossModel
from tests.factories.small_experiments import WORDS, batches_of, built, candidate, convolutions, stir

WORD, SENTENCE = WordStructure(shuffle_rate=0.3, word_structure_weight=3.0), SentenceStructure(pair_weight=2.0)
STRUCTBERT = Combined(parts=(WORD, SENTENCE), masked_token_weight=0.5)
SPANS = Combined(
    parts=(SpanBoundary(position_width=8), NextSentencePrediction()),
    selection=SpanGeometric(),
    replaced_together="span",
)
DIFFERENT_PAIRS = (
    "sentence_structure and next_sentence_prediction draw different pairs of segments; a batch has the pairs of one"
)


def prepared(
    objective: AuxiliaryLoss | Combined, pairs: Combined = STRUCTBERT
) -> tuple[AuxiliaryLossModel, AuxiliaryBatch]:
    model = built(candidate(convolutions()[-1], objective)).eval()
    assert isinstance(model, AuxiliaryLossModel)
    stir(model)
    return model, model.prepare(batches_of(pairs).at(0, 8, 1), WORDS, np.random.default_rng(1))


@pytest.mark.parametrize("objective", [STRUCTBERT, SPANS], ids=["StructBERT", "SpanBERT with pairs"])
@torch.no_grad()
def test_the_loss_is_the_weighted_sum_of_its_named_terms(objective: Combined) -> None:
    model, batch = prepared(objective, objective)
    losses = [loss.item() for loss in model.losses(model.device_batch(batch, np.random.default_rng(1)))]
    weights = [objective.masked_token_weight, *(part.weight for part in objective.parts)]
    terms = [term.item() for term in model.loss_terms(batch, np.random.default_rng(1))]
    assert objective.terms == ("masked_language_model", *(part.kind for part in objective.parts))
    assert len(objective.terms) == len(model.predictions_of_terms(batch))
    assert terms == pytest.approx([weight * loss for weight, loss in zip(weights, losses, strict=True)])
    assert model.loss(batch, np.random.default_rng(1)).item() == pytest.approx(sum(terms))
    assert min(terms) > 0.1


@torch.no_grad()
def test_a_part_has_the_same_data_and_the_same_loss_as_alone() -> None:
    """At equal weights: one packing, one mask, and the shuffling after it."""
    model, batch = prepared(STRUCTBERT)
    _, shuffled, relation = model.losses(model.device_batch(batch, np.random.default_rng(1)))
    alone, only_shuffled = prepared(WORD)
    alone.load_state_dict(model.state_dict(), strict=False)
    assert (only_shuffled.inputs == batch.inputs).all()
    assert (only_shuffled.targets == batch.targets).all()
    for one, other in zip(vars(only_shuffled.auxiliary[0]).values(), vars(batch.auxiliary[0]).values(), strict=True):
        assert (one == other).all()
    hidden = model.hidden(model.device_batch(batch, np.random.default_rng(1)))
    targets = alone.device_batch(only_shuffled, np.random.default_rng(1)).auxiliary[0]
    assert alone.auxiliary[0].loss(alone, hidden, targets).item() == pytest.approx(shuffled.item())
    pairs, unshuffled = prepared(SENTENCE)
    pairs.load_state_dict(model.state_dict())
    assert (unshuffled.auxiliary[0].labels == batch.auxiliary[1].labels).all()
    own = pairs.device_batch(unshuffled, np.random.default_rng(1)).auxiliary[0]
    assert pairs.auxiliary[0].loss(pairs, hidden, own).item() == pytest.approx(relation.item())


@pytest.mark.parametrize(
    ("parts", "settings", "path", "message"),
    [
        (
            (WordStructure(),),
            {},
            ("parts",),
            "1 is too few; two or more objectives are combined. Write word_structure alone",
        ),
        ((WordStructure(), WordStructure(shuffle_rate=0.1)), {}, ("parts", 1), "word_structure is listed twice"),
        (
            (NextSentencePrediction(), SentenceStructure()),
            {},
            ("parts", 1),
            DIFFERENT_PAIRS,
        ),
        (
            (WordStructure(), SentenceStructure(mask_rate=0.3)),
            {},
            ("parts", 1, "mask_rate"),
            "mask_rate of sentence_structure is that of the combination. Write objective.mask_rate",
        ),
        (
            (SpanBoundary(), NextSentencePrediction()),
            {},
            ("selection",),
            "token selects no spans, and a boundary needs one. Did you mean span_geometric?",
        ),
        (
            (WordStructure(), SentenceStructure()),
            {"random_token_share": 0.9},
            ("random_token_share",),
            "mask_token_share 0.8 + random_token_share 0.9 is more than 1; the two are parts of one whole",
        ),
    ],
    ids=["one part", "a part twice", "two kinds of pairs", "masks of its own", "no spans", "shares"],
)
def test_parts_that_do_not_fit_are_refused_in_one_line(
    parts: tuple[AuxiliaryLoss, ...], settings: dict[str, float], path: tuple[str | int, ...], message: str
) -> None:
    objective = Combined.model_validate({"parts": parts, **settings})
    (violation,) = objective.violations()
    assert (violation.path, violation.message) == (path, message)


def test_what_is_no_auxiliary_loss_is_no_part() -> None:
    document = {"kind": "combined", "parts": ("word_structure", "replaced_token_detection")}
    with pytest.raises(ValueError, match=r"'replaced_token_detection'.*does not match any of the expected tags"):
        Candidate.model_validate({"objective": document})
