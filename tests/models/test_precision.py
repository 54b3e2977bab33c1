"""Devices and precision: bfloat16 approximates float32, and what a machine lacks is refused."""

import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.convolution import Convolution
from steeplechase.foundation.errors import MachineError
from steeplechase.models import precision
from steeplechase.models.devices import open_device
from steeplechase.models.encoder import Encoder
from steeplechase.models.initialisation import initialise
from steeplechase.models.precision import autocast_to, has_bfloat16, to_autocast_dtype, without_autocast
from tests.factories.small_experiments import architecture, stir, title, variants

CPU = torch.device("cpu")
CLOSE = 0.1  # of the largest value; weights are stirred far from where they start
every_variant = pytest.mark.parametrize("convolution", variants(), ids=title)
in_hardware = pytest.mark.skipif(not has_bfloat16(CPU), reason="this processor has no bfloat16")


def encoder(convolution: Convolution) -> Encoder:
    model = Encoder(architecture(convolution), 0.0)
    initialise(model, 1)
    stir(model)
    return model


def tokens() -> Tensor:
    return torch.randint(40, (3, 20), generator=torch.Generator().manual_seed(1))


def outputs_and_gradients(model: Encoder, padding_mask: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    out = model(tokens(), None, padding_mask)
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(2))
    (out.float() * weights * padding_mask[..., None]).sum().backward()
    gradients = {name: value.grad for name, value in model.named_parameters() if value.grad is not None}
    return {"output": out.detach() * padding_mask[..., None], **gradients}


@in_hardware
@every_variant
def test_bfloat16_approximates_float32(convolution: Convolution) -> None:
    model, padding_mask = encoder(convolution), torch.arange(20) < torch.tensor([[20], [15], [9]])
    expected = outputs_and_gradients(model, padding_mask)
    with autocast_to("bfloat16", CPU):
        found = outputs_and_gradients(model, padding_mask)
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert value.dtype == (torch.bfloat16 if name == "output" else torch.float32), name
        if not name.endswith("attention.key.bias"):  # softmax over keys does not see it: rounding is all there is
            assert (value - expected[name]).norm() <= CLOSE * expected[name].norm(), name
    assert not torch.equal(found["output"], expected["output"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("position", ["learned", "relative", "clipped_relative"])
@pytest.mark.parametrize("visibility", ["bidirectional", "left_to_right", "right_to_left", "prefix"])
def test_a_row_of_padding_alone_is_a_number(visibility: str, position: str, dtype: torch.dtype) -> None:
    """So are its gradients: a softmax over no token would be none, and spread to all weights."""
    sizes = {"depth": 2, "width": 8, "embedding_width": 8, "heads": 2, "feed_forward_width": 12}
    declared = {**sizes, "vocabulary_size": 40, "visibility": visibility, "position": {"kind": position}}
    model = Encoder(Architecture.model_validate(declared), 0.0)
    initialise(model, 1)
    stir(model)
    padding_mask = torch.arange(20) < torch.tensor([[20], [0], [1]])
    found = outputs_and_gradients(model.to(dtype), padding_mask)
    assert all(value.isfinite().all() for value in found.values())


@in_hardware
def test_activations_between_matrix_products_are_bfloat16() -> None:
    x = torch.ones(2)
    with autocast_to("bfloat16", CPU):
        assert to_autocast_dtype(x).dtype == torch.bfloat16
        assert nn.Linear(2, 2)(x).dtype == torch.bfloat16
        with without_autocast(CPU):
            assert nn.Linear(2, 2)(x).dtype == torch.float32
    with autocast_to("float32", CPU):
        assert to_autocast_dtype(x) is x


def test_bfloat16_in_software_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda _: False)
    with pytest.raises(MachineError, match=r"recipe\.precision: .*bfloat16 .* allowed here: float32"):
        autocast_to("bfloat16", CPU)
    autocast_to("float32", CPU)


def test_the_processor_is_always_available() -> None:
    assert open_device("cpu") == torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_missing_gpu_is_refused() -> None:
    with pytest.raises(MachineError, match=r"recipe\.device: cuda is not available"):
        open_device("cuda")
