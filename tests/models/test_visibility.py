"""Who reads whom: over all pairs of tokens, for every visibility and every option, a hidden one has no gradient."""

from typing import get_args

import pytest
import torch
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import Convolution, NoConvolution, SpanDynamic
from search_space.convolution.kernel import WithKernel
from search_space.objective import MaskedLanguageModel, NextSentencePrediction
from search_space.position.option import PositionOption
from search_space.visibility import WINDOWS, Visibility
from steeplechase.foundation.schema import kind_of, options_of
from steeplechase.models.encoder import Encoder
from steeplechase.models.sublayer.attention import visible_keys
from tests.factories.parity import dependence
from tests.factories.small_experiments import title
from tests.factories.sublayers import stirred_encoder

LENGTH, PREFIX = 8, 4
LENGTHS = (LENGTH, 6)
SIZES = {
    "width": 8, "heads": 2, "embedding_width": 8, "feed_forward_width": 12, "vocabulary_size": 40, "positions": 16,
}  # fmt: skip
VISIBILITIES = tuple(
    each for each in get_args(Visibility) if each != "permutation"
)  # tests/models/test_two_streams.py
every_visibility = pytest.mark.parametrize("visibility", VISIBILITIES)


def allowed(visibility: Visibility) -> Tensor:
    """Return which outputs may read which inputs [outputs inputs], by its definition."""
    output, read = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)[None]
    return {
        "bidirectional": torch.ones(LENGTH, LENGTH, dtype=torch.bool),
        "left_to_right": read <= output,
        "right_to_left": read >= output,
        "prefix": (read <= output) | (read < PREFIX),
    }[visibility]


def built(**fields: object) -> Encoder:
    return stirred_encoder({**SIZES, **fields})


def reads(encoder: Encoder, padded: bool) -> list[Tensor]:
    """Return for each row of a batch the size of every gradient of an output by a token's embedding."""
    lengths = torch.tensor(LENGTHS if padded else [LENGTH] * len(LENGTHS))
    tokens = torch.randint(5, 40, (len(LENGTHS), LENGTH), generator=torch.Generator().manual_seed(1))
    segments = (torch.arange(LENGTH) >= PREFIX).long().expand(len(LENGTHS), -1)
    padding_mask = torch.arange(LENGTH)[None] < lengths[:, None] if padded else None
    return [*dependence(encoder, lambda: encoder(tokens, segments, padding_mask))]


def check(encoder: Encoder, visibility: Visibility) -> None:
    """Check both batches: exactly no gradient where a token is hidden; some where it is visible."""
    for padded in (False, True):
        for found, length in zip(reads(encoder, padded), LENGTHS if padded else (LENGTH, LENGTH), strict=True):
            may = allowed(visibility)[:length]
            may[:, length:] = False
            assert not found[:length][~may].any()
            others = may & ~torch.eye(LENGTH, dtype=torch.bool)[:length]
            assert found[:length][others].any()
            assert (found[:length].diagonal() > 0).all()


@every_visibility
@pytest.mark.parametrize("convolution", [NoConvolution(), SpanDynamic(kernel_size=3)], ids=title)
def test_no_convolution_reads_a_hidden_token(convolution: Convolution, visibility: Visibility) -> None:
    """The reach of every option's window is held by its contracts, in `test_option_contracts.py`."""
    for window in WINDOWS[visibility] if isinstance(convolution, WithKernel) else ("",):
        for kernel_size in (3,) if window in ("", "centred") else (3, 4):
            changes = {"window": window, "kernel_size": kernel_size} if window else {}
            moved = {**convolution.model_dump(), **changes}
            check(built(layers="s s", visibility=visibility, convolution=moved), visibility)


def positions() -> list[str]:
    """Return the kinds of positions."""
    return [kind_of(option) for option in options_of(PositionOption)]


@every_visibility
@pytest.mark.parametrize("kind", positions())
def test_no_kind_of_positions_reveals_a_hidden_token(kind: str, visibility: Visibility) -> None:
    check(built(layers="s f s", visibility=visibility, position=kind), visibility)


def test_a_prefix_needs_sequences_of_two_segments() -> None:
    architecture = Architecture(visibility="prefix")
    one = Candidate(architecture=architecture, objective=MaskedLanguageModel())
    (violation,) = (each for each in one.violations() if each.path == ("architecture", "visibility"))
    assert violation.message.startswith("prefix with masked language model; allowed: bidirectional")
    two = Candidate(architecture=architecture, objective=NextSentencePrediction())
    assert not [each for each in two.violations() if each.path == ("architecture", "visibility")]


def test_a_leak_is_found() -> None:
    """The contract can fail: an encoder built with all tokens visible reads hidden ones."""
    with pytest.raises(AssertionError):
        check(built(layers="s s", visibility="bidirectional"), "left_to_right")
    assert visible_keys("bidirectional", None, LENGTH, torch.device("cpu")) is None
