"""Torch's settings in a process that computes stages."""

import torch

from runners.computing import execute


def test_results_are_deterministic_and_new_memory_is_not_filled() -> None:
    """torch's deterministic mode would fill every new tensor, which is a kernel each and is never read."""
    torch.utils.deterministic.fill_uninitialized_memory = True
    execute._set_numerics("float32", deterministic=True)
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()  # with which attention would not be
    assert not torch.utils.deterministic.fill_uninitialized_memory
    assert torch.get_float32_matmul_precision() == "highest"
