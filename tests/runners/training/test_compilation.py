"""Compiled losses: encoder and loss of every option are one graph, whose training has the losses of an eager one.

Checks of shapes would break graphs, so they are traced by a process of its own: this file, called by name.
A graph takes seconds, so a few options are traced; `STEEPLECHASE_GOLDEN=write` traces all of them and writes
`graph_breaks.csv`, which must name them all.
"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from runners.training.compilation import CACHE, compiled_terms
from runners.training.loop import Step, TrainingData, train
from runners.training.optimisers import build_optimiser
from search_space.candidate import Candidate
from search_space.convolution import Depthwise, SpanDynamic
from search_space.convolution.option import ConvolutionOption
from search_space.objective import Denoising, LanguageModel, MaskedLanguageModel, ReplacedTokenDetection
from search_space.objective.masked_language_model import MaskRateSchedule
from search_space.output_layer import AdaptiveSoftmax
from search_space.packing import Consecutive
from steeplechase.foundation.errors import MachineError
from steeplechase.foundation.randomness import stream
from steeplechase.models.kernels import window
from steeplechase.tasks.contracts.candidates import model_of
from steeplechase.tasks.contracts.small_candidates import (
    LENGTH,
    ROWS,
    WORDS,
    placed,
    sequences,
    small_candidate,
    with_layers,
)
from tests.factories.device_updates import candidates, with_recipe
from tests.factories.paths import ROOT

TABLE = Path(__file__).parent / "golden" / "graph_breaks.csv"
WRITE = os.environ.get("STEEPLECHASE_GOLDEN") == "write"
ADAPTIVE = LanguageModel(output_layer=AdaptiveSoftmax(cutoffs=(10, 20)))
State = dict[str, Any]
SHALLOW = small_candidate(MaskedLanguageModel(), depth=1)


def cases() -> Iterator[tuple[str, Candidate]]:
    """Yield what the emulated device updates, with dropout, and what it has no kernels of."""
    for title, candidate in candidates():
        yield title, with_recipe(candidate, dropout=0.1)
    for program in ("(s g f)*2", "(r f)*2"):
        for visibility in ("bidirectional", "left_to_right"):
            yield f"layers {program} {visibility}", with_layers(program, visibility)  # type: ignore[arg-type]
    yield "sharing all", small_candidate(MaskedLanguageModel(), sharing="all")
    yield "feed_forward_groups 2", small_candidate(MaskedLanguageModel(), feed_forward_groups=2)
    for checkpointing in ("selective", "full"):
        yield f"checkpointing {checkpointing}", with_recipe(SHALLOW, activation_checkpointing=checkpointing)
    yield "memory", small_candidate(LanguageModel(packing=Consecutive()), memory=8)


CASES = dict(cases())


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what a process without checks of shapes has found."""
    file = tmp_path_factory.mktemp("compiled") / "found.json"
    told = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    called = subprocess.run(
        [sys.executable, __file__, str(file)], env=told, capture_output=True, text=True, check=False
    )
    assert called.returncode == 0, called.stderr
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def graphs_of(candidate: Candidate, runs: bool = True) -> list[torch.fx.GraphModule]:
    """Return the graphs of encoder and loss, traced on one batch."""
    torch.compiler.reset()
    graphs: list[torch.fx.GraphModule] = []

    def kept(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward if runs else nothing_run

    model = model_of(candidate).train()
    batch = model.prepare(sequences(candidate.objective, LENGTH).at(0, ROWS, 1), WORDS, stream(1, "masking", 0))
    read = model.device_batch(batch, np.random.default_rng(1))
    model.start_update(0)
    with suppress(NothingRun), torch._dynamo.config.patch(allow_rnn=True):
        torch.compile(model.terms, backend=kept)(read)
    return graphs


class NothingRun(Exception):
    """A graph was traced, and its operators cannot be run here."""


def nothing_run(*inputs: object) -> None:
    raise NothingRun


def test_no_option_breaks_its_graph(found: dict[str, Any]) -> None:
    """By the table."""
    assert found["graphs"] is not None
    with TABLE.open() as file:
        table = {row["option"]: int(row["graph_breaks"]) for row in csv.DictReader(file)}
    assert table == dict.fromkeys(CASES, 0)


@pytest.mark.parametrize("title", ["two models", "a loss in groups"])
def test_encoder_and_loss_are_one_graph(title: str, found: dict[str, Any]) -> None:
    assert found["graphs"][title] == 1


@pytest.mark.parametrize("operator", ["span_window", "depthwise_window"])
def test_a_window_of_triton_is_an_operator_of_the_graph(operator: str, found: dict[str, Any]) -> None:
    assert found["operators"][operator] == [1]


def test_a_compiled_training_has_the_losses_of_an_eager_one_and_goes_on_bit_for_bit(found: dict[str, Any]) -> None:
    assert found["compiled"] == pytest.approx(found["eager"], rel=1e-6)
    assert found["continued"] == found["compiled"]


def trained(candidate: Candidate, steps: range, state: State | None = None) -> tuple[list[float], State]:
    """Return the losses of updates, and the state of model and optimiser after two of them."""
    model, kept = model_of(candidate), State()
    optimiser = build_optimiser(model, candidate.recipe)
    if state is not None:
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
    losses: list[float] = []

    def keep(step: Step) -> None:
        losses.append(step.loss)
        if len(losses) == 2:
            kept.update(deepcopy({"model": model.state_dict(), "optimiser": optimiser.state_dict()}))

    data = TrainingData(candidate, sequences(candidate.objective, LENGTH), WORDS, 1, 1e9)
    with compiled_terms(model, candidate, "aot_eager"):
        train(model, data, optimiser, steps, keep)
    return losses, kept


def test_generated_code_is_kept_below_the_users_cache_folder_or_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(CACHE, "")  # restored at the end
    for told, place in ((None, str(tmp_path / "steeplechase" / "inductor")), ("/elsewhere", "/elsewhere")):
        monkeypatch.delenv(CACHE) if told is None else monkeypatch.setenv(CACHE, told)
        with compiled_terms(model_of(SHALLOW), with_recipe(SHALLOW, compile=True)):
            assert os.environ[CACHE] == place


def test_a_loss_that_torch_cannot_compile_names_the_remedy() -> None:
    def fails(graph: torch.fx.GraphModule, inputs: object) -> Callable[..., Any]:
        raise OSError("no compiler of C")

    candidate = with_recipe(SHALLOW, compile=True)
    model = model_of(candidate)
    model.terms = lambda batch: (batch + 1,)  # type: ignore[method-assign, assignment]
    refusal = "no compiler of C.*`recipe.compile: false` trains without it"
    with compiled_terms(model, candidate, fails), pytest.raises(MachineError, match=refusal):
        model.terms(torch.ones(2))


def test_gpus_compile_where_lengths_are_fixed_and_processors_where_they_are_told_to() -> None:
    on_gpu, (writing,) = with_recipe(SHALLOW, device="cuda"), [placed(Denoising())]
    assert writing is not None
    assert (SHALLOW.compiles, on_gpu.compiles, with_recipe(on_gpu, compile=False).compiles) == (False, True, False)
    assert with_recipe(SHALLOW, compile=True).compiles
    assert not with_recipe(writing, device="cuda").compiles
    schedule = MaskRateSchedule(initial_rate=0.3, tokens=1000)
    changing = small_candidate(MaskedLanguageModel(mask_rate_schedule=schedule), depth=1)
    assert not with_recipe(changing, device="cuda").compiles
    refused = [each.path for each in with_recipe(writing, compile=True).violations()]
    assert refused == [("recipe", "compile")]


def with_window(convolution: ConvolutionOption, operator: str) -> list[int]:
    """Return how often each graph has an operator, where Triton's windows are there."""
    candidate = small_candidate(MaskedLanguageModel(), depth=1, convolution=convolution, bottleneck_ratio=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "has_fused", lambda values: True)
        graphs = graphs_of(candidate, runs=False)
    names = [[str(node.target) for node in graph.graph.nodes] for graph in graphs]
    return [sum(name.startswith(f"steeplechase.{operator}") for name in each) for each in names]


def main(file: str) -> None:
    """Write what compilation does."""
    torch.set_num_threads(1)
    if WRITE:
        with TABLE.open("w", newline="") as table:
            writer = csv.writer(table, lineterminator="\n")
            writer.writerow(("option", "graph_breaks"))
            writer.writerows((title, len(graphs_of(candidate)) - 1) for title, candidate in CASES.items())
    two_models = small_candidate(ReplacedTokenDetection(), depth=1)
    in_groups = small_candidate(ADAPTIVE, depth=1, embedding_width=24)
    traced = {"two models": two_models, "a loss in groups": in_groups}
    compiled = with_recipe(SHALLOW, compile=True)
    losses, state = trained(compiled, range(4))
    document = {
        "graphs": {title: len(graphs_of(with_recipe(each, dropout=0.1))) for title, each in traced.items()},
        "operators": {
            "span_window": with_window(SpanDynamic(), "span_window"),
            "depthwise_window": with_window(Depthwise(), "depthwise_window"),
        },
        "eager": trained(SHALLOW, range(4))[0],
        "compiled": losses,
        "continued": [*losses[:2], *trained(compiled, range(2, 4), state)[0]],
    }
    Path(file).write_text(json.dumps(document))


if __name__ == "__main__":
    main(sys.argv[1])
