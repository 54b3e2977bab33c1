"""Devices: every declared one is torch's, and one that a machine lacks is refused by its name."""

from typing import get_args

import pytest
import torch

from steeplechase.foundation.devices import PROCESSOR, Device, is_gpu
from steeplechase.foundation.errors import MachineError
from steeplechase.models.devices import open_device


@pytest.mark.parametrize("name", get_args(Device))
def test_a_device_is_opened_by_torchs_name_or_refused(name: Device) -> None:
    if name == PROCESSOR or torch.get_device_module(name).is_available():
        assert open_device(name).type == name
    else:
        with pytest.raises(MachineError, match=f"recipe.device: {name} is not available on this machine"):
            open_device(name)


def test_every_device_but_the_processor_is_a_gpu() -> None:
    assert [each for each in get_args(Device) if not is_gpu(each)] == [PROCESSOR]
