"""Every family's encoder computes what transformers' class does with the same weights, with padding."""

import pytest
import torch
from torch import Tensor, nn

from steeplechase.models.encoder import Encoder
from tests.factories.huggingface_bodies import BODIES, VOCABULARY, Body
from tests.factories.parity import LARGEST, distance, nudged

LENGTHS, LENGTH = (17, 12, 1), 17
PADDING_TOKENS = 2  # 0 and 1 are [PAD] of one family or the other, which RoBERTa's positions skip


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest) -> Body:
    chosen: str = request.param
    return BODIES[chosen]


def inputs(body: Body, padded: bool = True) -> tuple[Tensor, Tensor | None, Tensor]:
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(PADDING_TOKENS, VOCABULARY, (len(LENGTHS), LENGTH), generator=generator)
    segments = torch.randint(2, tokens.shape, generator=generator) if body.has_segments else None
    ends = torch.tensor(LENGTHS if padded else [LENGTH] * len(LENGTHS))
    return tokens, segments, torch.arange(LENGTH) < ends[:, None]


def states(theirs: nn.Module, ours: Encoder, given: tuple[Tensor, Tensor | None, Tensor]) -> tuple[Tensor, Tensor]:
    """Return our last hidden states and theirs at the real positions."""
    tokens, segments, real = given
    more = {} if segments is None else {"token_type_ids": segments}
    expected = theirs(input_ids=tokens, attention_mask=real.long(), **more)[0]
    return ours(tokens, segments, real)[real], expected[real]


@pytest.mark.parametrize("padded", [False, True], ids=["unpadded", "padded"])
@pytest.mark.parametrize("dtype", LARGEST, ids=str)
@torch.no_grad()
def test_hidden_states_equal_those_of_transformers(body: Body, dtype: torch.dtype, padded: bool) -> None:
    if dtype == torch.float64 != body.widest:
        pytest.skip("transformers computes a part in float32")
    assert distance(*states(*body.pair(dtype), inputs(body, padded))) <= LARGEST[dtype]


@torch.no_grad()
def test_a_change_of_any_weight_is_detected(body: Body) -> None:
    """The comparison can fail for every tensor except a key's bias that is not turned: it does not affect softmax."""
    theirs, ours = body.pair(body.widest)
    tokens, segments, real = inputs(body)
    expected = states(theirs, ours, (tokens, segments, real))[1]
    for name in nudged(ours.named_parameters()):
        far = distance(ours(tokens, segments, real)[real], expected)
        unseen = name.endswith("attention.key.bias") and body.architecture.position.kind != "rotary"
        unseen |= name == "query_start.weight"  # of the query stream alone
        assert (far > LARGEST[body.widest]) != unseen, name


@torch.no_grad()
def test_a_norm_on_the_other_side_of_a_sublayer_is_detected() -> None:
    """Checkpoints of pre-norm and post-norm have the same shapes; the outputs differ."""
    theirs, pre = BODIES["RobertaPreLayerNormModel"].pair(torch.float32)
    post = Encoder(BODIES["RobertaModel"].architecture, 0.1).eval()
    post.load_state_dict(
        {name: value for name, value in pre.state_dict().items() if "final" not in name}, strict=True
    )
    given = inputs(BODIES["RobertaModel"])
    assert distance(*states(theirs, pre, given)) <= LARGEST[torch.float32]
    assert distance(*states(theirs, post, given)) > 0.1
