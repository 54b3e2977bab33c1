"""A missing device is an error, never a fallback to another one."""

import pytest
import torch

from foundation.errors import MachineError
from models.devices import open_device


def test_the_processor_is_always_available() -> None:
    assert open_device("cpu") == torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_missing_gpu_is_refused() -> None:
    with pytest.raises(MachineError, match=r"recipe\.device: cuda is not available"):
        open_device("cuda")
