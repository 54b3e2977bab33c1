"""A further process of a pretraining stage with `recipe.processes`: trains on its part of each batch."""

import json
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from runners.computing.execute import load_libraries
from runners.stages.pretrain import PretrainStage
from search_space.module_factories import allow_packages
from steeplechase.configuration.plugins import load_plugin
from steeplechase.foundation.child_process import PartnerDied, private_output


def main() -> None:
    """Join the group and train until the stage's end; end at once when the first process has ended."""
    document, rank, size = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    first = private_output()
    threading.Thread(target=_end_with_first, daemon=True).start()
    for folder, sha256 in document["plugins"]:
        load_plugin(Path(folder), sha256)
    allow_packages(document["packages"])
    stage = PretrainStage.model_validate_json(document["stage"])
    load_libraries(stage)
    from runners.computing.pretrain import started
    from runners.training.compilation import compiled_terms
    from runners.training.data_parallel import READY, joined
    from runners.training.loop import NotFinite, train

    inputs = {name: Path(folder) for name, folder in document["inputs"].items()}
    cuda = stage.candidate.recipe.device == "cuda"
    if cuda:
        choose_gpu(rank)
    begun = started(stage, inputs, Path(document["folder"]))
    first.write(f"{READY}\n")
    first.flush()
    with suppress(NotFinite, PartnerDied), joined(rank, size, Path(sys.argv[4]), cuda) as group:
        steps = range(begun.completed_steps, stage.to_step)
        with compiled_terms(begun.model, stage.candidate):
            train(begun.model, begun.training_data, begun.optimiser, steps, _nothing, group, lambda number: False)


def _nothing(step: object) -> None:
    """Report nothing: the first process does."""


def choose_gpu(rank: int) -> None:
    """Use a GPU of one's own where there are enough."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_device(rank % torch.cuda.device_count())


def _end_with_first() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
