"""Counts a factory's module on the built module: parameters, FLOPs by torch's counter, activations, widths.

As a process it answers a line of JSON with a line of JSON; plans and reports ask it, because they import no torch.
"""

import json
import sys
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from search_space.module_architecture import ModuleArchitecture
from search_space.module_factories import allow_packages
from steeplechase.configuration.plugins import load_plugin
from steeplechase.foundation.child_process import private_output
from steeplechase.foundation.plugin_code import explained
from steeplechase.models.activation_checkpointing import saved_bytes
from steeplechase.models.module_encoder import ModuleEncoder, input_embeddings

BATCH = 1


def main() -> None:
    """Answer requests until the input ends."""
    answers = private_output()
    for line in sys.stdin:
        request = json.loads(line)
        for folder, sha256 in request["plugins"]:
            load_plugin(Path(folder), sha256)
        allow_packages(request["packages"])
        answers.write(json.dumps(answer(request["architecture"], request["length"])) + "\n")
        answers.flush()


def answer(architecture: str, length: int) -> dict[str, object]:
    """Return the counts as plain values, or the reason why there are none."""
    declared = ModuleArchitecture.model_validate_json(architecture)
    try:
        with torch.random.fork_rng(devices=[]):
            return _counts(declared, length)
    except (Exception, SystemExit) as error:  # a factory that ends the process would end the command without a word
        return {"error": f"{declared.factory}: {explained(error)}"}


def _counts(declared: ModuleArchitecture, length: int) -> dict[str, object]:
    encoder = ModuleEncoder(declared).eval()
    tokens = torch.zeros(BATCH, length, dtype=torch.long)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        hidden = encoder.module(tokens, torch.ones(BATCH, length, dtype=torch.bool))
    _refuse_other_output(hidden, tokens)
    table = input_embeddings(encoder.module)
    saved = saved_bytes(lambda: encoder(tokens), encoder.parameters())
    return {
        "parameters": sum(parameter.numel() for parameter in encoder.parameters()),
        "forward_flops": counter.get_total_flops() // BATCH,
        "saved_activations": saved // torch.get_default_dtype().itemsize // length,
        "width": hidden.shape[-1],
        "embedding_width": None if table is None else table.embedding_dim,
        "token_embeddings": None if table is None else table.num_embeddings,
    }


def _refuse_other_output(hidden: object, tokens: Tensor) -> None:
    if not isinstance(hidden, Tensor):
        raise TypeError(f"the output is {type(hidden).__name__}; a tensor [batch seq width] is needed")
    if hidden.ndim != 3 or hidden.shape[:2] != tokens.shape:
        raise ValueError(f"the output has the shape {list(hidden.shape)}; [batch seq width] is needed")
    if hidden.dtype != torch.float32:
        raise TypeError(f"the output is of {hidden.dtype}; torch.float32 is needed, recipe.precision converts it")
    if tokens.any():  # they were 0
        raise ValueError("the module writes into its input tokens; clone them first")


if __name__ == "__main__":
    main()
