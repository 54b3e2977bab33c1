"""Updates on the emulated device: the losses of the processor, launches and waits within the table, a late NotFinite.

Torch counts the devices at the first backward pass of a process, so the device has one of its own: this file, called
by name. The table is `device_costs.csv`; `STEEPLECHASE_GOLDEN=write` and this file write what is found now.
"""

import csv
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from runners.training.loop import NotFinite, Step, train
from runners.training.readings import prepared_batches
from search_space.objective import MaskedLanguageModel, ReplacedTokenDetection
from steeplechase.models.generation.search import SearchSettings, beam_search, greedy_search
from steeplechase.models.sublayer.recurrent import Sublayer
from steeplechase.tasks.contracts.small_candidates import small_candidate, with_layers
from tests.factories.device_updates import candidates, lesson_of, released, updated, with_recipe
from tests.factories.emulated_calls import emulation
from tests.factories.emulated_device import Counts, EmulatedTensor, MixedDevices, device
from tests.factories.paths import ROOT

TABLE = Path(__file__).parent / "golden" / "device_costs.csv"
WRITE = os.environ.get("STEEPLECHASE_GOLDEN") == "write"
CASES = dict(candidates())
CLOSE = 1e-3
"""Of a loss in bfloat16, relative to float32."""
LONGEST = 12
"""Tokens of a continuation."""
MOST_LAUNCHES = {"convbert-small": 1400, "bert-base": 570}
"""At a small width: at its own, LAMB's blocks make 67 launches more for BERT-base."""
LATE = ("adamw", "sgd", "lamb")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a process with the emulated device has found."""
    file = tmp_path_factory.mktemp("device") / "found.json"
    told = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    called = subprocess.run(
        [sys.executable, __file__, str(file)], env=told, capture_output=True, text=True, check=False
    )
    assert called.returncode == 0, called.stderr
    document: dict[str, Any] = json.loads(file.read_text())
    if WRITE:
        with TABLE.open("w", newline="") as table:
            writer = csv.writer(table, lineterminator="\n")
            writer.writerow(("option", "launches", "waits"))
            for option, (_, launches, waits) in document["options"].items():
                writer.writerow((option, sum(launches.values()), sum(waits.values())))
    return document


@pytest.fixture(scope="module")
def costs(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    with TABLE.open() as file:
        return {row["option"]: (int(row["launches"]), int(row["waits"])) for row in csv.DictReader(file)}


@pytest.mark.parametrize("option", CASES)
def test_an_update_has_the_processors_loss_and_costs_no_more_than_the_table_says(
    option: str, found: dict[str, Any], costs: dict[str, tuple[int, int]]
) -> None:
    """No operator is over two devices, and bfloat16 is within rounding of float32."""
    losses, launches, waits = found["options"][option]
    assert losses == pytest.approx(updated(CASES[option], on_device=False).losses, rel=CLOSE)
    most_launches, most_waits = costs[option]
    assert sum(launches.values()) <= most_launches, launches
    assert sum(waits.values()) <= most_waits, waits


def test_float32_on_the_device_is_the_processors(found: dict[str, Any]) -> None:
    expected = updated(small_candidate(ReplacedTokenDetection()), on_device=False).losses
    assert found["float32"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("optimiser", LATE)
def test_a_loss_read_late_that_is_not_finite_leaves_the_model_as_before_the_update(
    optimiser: str, found: dict[str, Any]
) -> None:
    """A weight is spoiled after update 2: update 3 raises, with every other weight still finite."""
    assert found["late"][optimiser] == {"reported": [1, 2], "raised": 3, "spoiled": 1}


def test_an_lstm_is_computed_in_float32_on_the_device(found: dict[str, Any]) -> None:
    """CUDA's autocast computes it in float16, which needs loss scaling."""
    assert found["lstm"] == ["torch.float32", False]


@pytest.mark.parametrize("search", ["greedy_search", "beam_search"])
def test_a_search_waits_once_a_token_and_twice_at_its_end(search: str, found: dict[str, Any]) -> None:
    waits, tokens = found["searches"][search]
    assert tokens == LONGEST
    assert waits <= LONGEST + 2


def test_the_device_refuses_tensors_of_another(found: dict[str, Any]) -> None:
    assert found["mixed devices refused"]


def test_the_bytes_of_a_launch_are_those_of_its_inputs_and_outputs(found: dict[str, Any]) -> None:
    """A broadcast row has the bytes of one row; a view moves none; an attention reads three and writes one."""
    assert found["moved"] == {"add": 4 * (6 + 3 + 6), "attention": 4 * 4 * 10}


def test_updates_of_released_models_launch_no_more_than_docs_gpu_says(found: dict[str, Any]) -> None:
    """Before any graph is captured; one wait, one update late."""
    costs = found["released"]
    assert {name: waits for name, (_, waits) in costs.items()} == dict.fromkeys(MOST_LAUNCHES, 1)
    assert all(launches <= MOST_LAUNCHES[name] for name, (launches, _) in costs.items()), costs


def test_prepared_batches_are_the_same_ahead_and_come_with_their_errors() -> None:
    assert [*prepared_batches(str, range(3, 6), ahead=True)] == [*prepared_batches(str, range(3, 6), ahead=False)]
    assert [*prepared_batches(str, range(0), ahead=True)] == []
    with pytest.raises(ZeroDivisionError):
        [*prepared_batches(lambda step: 1 // (2 - step), range(4), ahead=True)]


def update_with_spoiled_weights(optimiser: str) -> dict[str, object]:
    """Train until a weight that was made infinite is noticed; return which updates were reported and raised."""
    lesson = lesson_of(with_recipe(small_candidate(MaskedLanguageModel()), optimiser=optimiser))
    model, steps = lesson.model, list[int]()

    def spoil(step: Step) -> None:
        steps.append(step.number)
        if step.number == 2:
            with torch.no_grad():
                next(model.encoder.blocks[0].parameters()).mul_(math.inf)

    try:
        train(model, lesson.data, lesson.optimiser, range(6), spoil, reads_model=lambda number: number == 2)
    except NotFinite as end:
        spoiled = sum(1 for each in model.parameters() if not each.detach().isfinite().all())
        return {"reported": steps, "raised": end.step.number, "spoiled": spoiled}
    return {}


class Reached(Exception):
    """An LSTM was reached."""


def input_of_lstm() -> list[object]:
    """Return the type that an LSTM reads within autocast, and whether it is itself under autocast."""
    lesson, seen = lesson_of(with_recipe(with_layers("(r f)*2"), precision="bfloat16")), list[object]()

    def record(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        seen.extend((str(inputs[0].dtype), torch.is_autocast_enabled(device().type)))
        raise Reached

    lstm = next(each for each in lesson.model.modules() if isinstance(each, Sublayer)).layer
    lstm.register_forward_pre_hook(record)
    try:
        train(lesson.model, lesson.data, lesson.optimiser, range(1), lambda step: None)
    except Reached:
        return seen
    return []


class Bigrams:
    """A decoding by the last token alone."""

    def __init__(self) -> None:
        table = torch.randn(11, 11, generator=torch.Generator().manual_seed(0))
        self.table = table.log_softmax(-1).to(device())

    def advance(self, new: torch.Tensor) -> torch.Tensor:
        return self.table[new[:, -1]]

    def reorder(self, rows: torch.Tensor) -> None:
        """Keep what all hypotheses share."""


def waits_of_searches(counts: Counts) -> dict[str, tuple[int, int]]:
    """Return the waits of each search, and the tokens of its longest continuation."""
    told = {}
    prompt, decoding = torch.tensor([[1], [2], [3]]).to(device()), Bigrams()
    for search, beams in ((greedy_search, 1), (beam_search, 4)):
        counts.clear()
        settings = SearchSettings(end=0, longest=LONGEST, beams=beams)
        with torch.no_grad():  # the device has no inference mode
            found = search.__wrapped__(decoding, prompt, settings)  # type: ignore[attr-defined]
        told[search.__name__] = (sum(counts.waits.values()), max(len(each.tokens) for each in found))
    return told


def bytes_moved(counts: Counts) -> dict[str, int]:
    """Return the bytes of a sum [2 3] with a row that is broadcast, and of an attention over 5 places of width 2."""
    counts.clear()
    table, row, queries = (torch.ones(shape).to(device()) for shape in ((2, 3), (1, 3), (1, 1, 5, 2)))
    counts.clear()
    assert (table + row.expand(2, 3)).t().shape == (3, 2)
    torch.nn.functional.scaled_dot_product_attention(queries, queries * 1, queries * 2)
    return {name: counts.moved[name] for name in ("add", "attention")}


def mixed_devices_refused() -> bool:
    try:
        EmulatedTensor(torch.ones(2)) + torch.ones(2)
    except MixedDevices:
        return True
    return False


def main(file: str) -> None:
    """Write what the emulated device does and costs."""
    device()
    torch.set_num_threads(1)
    options = {}
    for option, candidate in CASES.items():
        losses, counts = updated(with_recipe(candidate, precision="bfloat16"), on_device=True)
        options[option] = (losses, counts.launches, counts.waits)
    float32 = updated(small_candidate(ReplacedTokenDetection()), on_device=True).losses
    with emulation() as counts:
        document = {
            "options": options,
            "float32": float32,
            "late": {optimiser: update_with_spoiled_weights(optimiser) for optimiser in LATE},
            "lstm": input_of_lstm(),
            "searches": waits_of_searches(counts),
            "moved": bytes_moved(counts),
            "mixed devices refused": mixed_devices_refused(),
        }
    document["released"] = dict(released_models())
    Path(file).write_text(json.dumps(document))


def released_models() -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the launches and waits of an update of released models."""
    for name in MOST_LAUNCHES:
        recipe = {"optimiser": "lamb"} if name == "bert-base" else {}
        _, counts = updated(released(name, **recipe), on_device=True)
        yield name, (sum(counts.launches.values()), sum(counts.waits.values()))


if __name__ == "__main__":
    main(sys.argv[1])
