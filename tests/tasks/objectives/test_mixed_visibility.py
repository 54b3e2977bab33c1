"""Four visibilities in one stack: exact gradients, parity with BERT under the same masks, shares, refusals."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import MixedVisibility
from search_space.visibility import Visibility
from steeplechase.foundation.randomness import stream
from steeplechase.models.attention_context import AttentionContext
from steeplechase.models.encoder import Encoder
from steeplechase.models.huggingface.weight_names import encoder_pairs, to_transformers
from steeplechase.models.visible_tokens import visible_tokens
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.mixed_visibility import Model
from tests.factories.local_models import transformers
from tests.factories.small_experiments import WORDS, batches_of, stir

LENGTH, SOURCE = 12, 5
SIZES: dict[str, Any] = {
    "depth": 2, "width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 24, "positions": 40,
    "segments": 6, "vocabulary_size": WORDS.vocabulary_size,
}  # fmt: skip
NAMES: tuple[Visibility, ...] = ("bidirectional", "prefix", "left_to_right", "right_to_left")
every_visibility = pytest.mark.parametrize("name", NAMES)
CPU = torch.device("cpu")


def reads(name: Visibility, query: int, key: int) -> bool:
    """Whether a token reads another, by the definition of the visibility."""
    if name == "bidirectional":
        return True
    if name == "prefix":
        return key < SOURCE or SOURCE <= key <= query
    return key <= query if name == "left_to_right" else key >= query


def model_of(architecture: dict[str, Any] | None = None, **objective: Any) -> Model:
    document = {
        "architecture": {**SIZES, **(architecture or {})},
        "objective": {"kind": "mixed_visibility", **objective},
        "recipe": {"dropout": 0.0, "sequence_length": 32},
    }
    model = build_model(Candidate.model_validate(document), None, 1)
    assert isinstance(model, Model)
    stir(model)
    return model


def tokens(rows: int = 1) -> Tensor:
    return torch.randint(5, WORDS.vocabulary_size, (rows, LENGTH), generator=torch.Generator().manual_seed(2))


def states(encoder: Encoder, name: Visibility, source: int = SOURCE, padding: Tensor | None = None) -> Tensor:
    rows = 1 if padding is None else len(padding)
    context = AttentionContext(visible=visible_tokens([name] * rows, LENGTH, source, CPU))
    return encoder.read(tokens(rows), None, padding, context)


@every_visibility
def test_a_gradient_is_0_wherever_a_token_is_hidden_and_nowhere_else(name: Visibility) -> None:
    encoder = Encoder(Architecture.model_validate({**SIZES, "depth": 1}), 0.0).double().eval()
    stir(encoder)
    seen: list[Tensor] = []

    def keep(_module: object, _inputs: object, output: Tensor) -> Tensor:
        seen.append(output.detach().requires_grad_())
        return seen[-1]

    encoder.embeddings.register_forward_hook(keep)
    outputs = states(encoder, name)
    weights = torch.randn(16, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for query in range(LENGTH):
        (gradient,) = torch.autograd.grad((outputs[0, query] * weights).sum(), seen, retain_graph=True)
        reached = (gradient[0].abs().amax(-1) != 0.0).tolist()
        assert reached == [reads(name, query, key) for key in range(LENGTH)], query


@every_visibility
@torch.no_grad()
def test_states_equal_those_of_bert_with_the_same_mask(name: Visibility) -> None:
    """With padding; a nudge of one weight shows, and so does another mask."""
    architecture = Architecture.model_validate(SIZES)
    encoder = Encoder(architecture, 0.0).eval()
    stir(encoder)
    config = transformers().BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, type_vocab_size=6,
        vocab_size=WORDS.vocabulary_size, max_position_embeddings=40, attn_implementation="eager",
    )  # fmt: skip
    theirs = transformers().BertModel(config, add_pooling_layer=False).eval()
    theirs.load_state_dict(
        to_transformers(dict(encoder.named_parameters()), encoder_pairs(architecture)), strict=False
    )
    real = torch.arange(LENGTH) < torch.tensor([12, 7])[:, None]
    own = torch.eye(LENGTH, dtype=torch.bool)
    masks = {each: visible_tokens([each] * 2, LENGTH, SOURCE, CPU) & real[:, None] | own for each in NAMES}

    def expected(shown: Tensor) -> Tensor:
        additive = torch.zeros(shown.shape).masked_fill(~shown, torch.finfo(torch.float32).min)[:, None]
        return theirs(tokens(2), attention_mask=additive).last_hidden_state[real]

    found = states(encoder, name, padding=real)[real]
    assert (found - expected(masks[name])).abs().max() < 1e-5
    assert all((found - expected(masks[each])).abs().max() > 1e-3 for each in NAMES if each != name)
    theirs.encoder.layer[0].attention.self.value.weight += 1e-3
    assert (found - expected(masks[name])).abs().max() > 1e-5


def test_visibilities_are_drawn_by_their_shares() -> None:
    model = model_of()
    sequences = batches_of(MixedVisibility()).at(0, 3000, 1)
    drawn = model.prepare(sequences, WORDS, np.random.default_rng(1)).visibilities
    counts = np.bincount(drawn, minlength=4)
    expected = 3000 * np.asarray([share for _, share in model.objective.shares])
    assert ((counts - expected) ** 2 / expected).sum() < 16.3, "chi-squared of 3 degrees, p = 0.001"


@every_visibility
def test_one_visibility_alone_has_the_loss_of_its_mask(name: Visibility) -> None:
    shares = {f"{each}_share": float(each == name) for each in NAMES}
    model = model_of(**shares).eval()
    sequences = batches_of(MixedVisibility()).at(0, 4, 1)
    batch = model.prepare(sequences, WORDS, stream(1, "masking", 1))
    loss = model.loss(batch, stream(1, "masking", 1)).item()
    parts = [model.loss(part, stream(1, "masking", 1)).item() * part.predictions for part in batch.micro_batches(2)]
    assert loss == pytest.approx(sum(parts) / batch.predictions, rel=1e-5)
    other = model_of(**{f"{each}_share": float(each == NAMES[NAMES.index(name) - 1]) for each in NAMES}).eval()
    again = other.prepare(sequences, WORDS, stream(1, "masking", 1))
    assert (again.inputs == batch.inputs).all()
    assert other.loss(again, stream(1, "masking", 1)).item() != loss


def test_a_recurrence_that_the_masks_cannot_hide_is_refused() -> None:
    document = {"architecture": {"layers": "r s f"}, "objective": "mixed_visibility"}
    (violation,) = Candidate.model_validate(document).violations()
    assert violation.message.startswith("r reads tokens that mixed visibility hides")
