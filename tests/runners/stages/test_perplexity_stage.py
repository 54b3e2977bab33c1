"""The measurement of perplexity: every token once, equal to a loop over the text, and in its units."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from runners.dag import shared_stages, trial_stages
from runners.stage_labels import all_labels
from runners.stages.context import ProgressFile, StageContext
from runners.stages.perplexity import PerplexityStage, windows
from runners.training.checkpoint import save_checkpoint
from runners.training.optimisers import build_optimiser
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.objective import LanguageModel
from search_space.recipe import Recipe
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.perplexity import PerplexityResult
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.ledger.records import Status
from steeplechase.ledger.rows import read_result
from steeplechase.tasks.language_model_texts import LanguageModelText
from steeplechase.tasks.objectives import build_model
from tests.factories import simulated_training as simulated
from tests.factories.small_experiments import WORDS, stir

LENGTH = 10
SIZES: dict[str, Any] = {
    "depth": 2, "width": 16, "embedding_width": 16, "heads": 2, "feed_forward_width": 16, "positions": 16,
    "vocabulary_size": WORDS.vocabulary_size,
}  # fmt: skip


def candidate(visibility: str) -> Candidate:
    architecture = Architecture(**{**SIZES, "visibility": visibility})
    recipe = Recipe(sequence_length=LENGTH, dropout=0.0)
    return Candidate(architecture=architecture, objective=LanguageModel(), recipe=recipe)


@given(st.integers(1, 60), st.integers(2, 12), st.data())
def test_every_token_is_predicted_once_with_all_context(tokens: int, piece: int, data: st.DataObject) -> None:
    new = data.draw(st.one_of(st.none(), st.integers(1, piece)))
    for left_to_right in (True, False):
        found = [*windows(tokens, piece, new, left_to_right)]
        places = [place for each in found for place in range(tokens)[each.first : each.last][each.predicted]]
        assert places == [*range(tokens)]
        assert all(0 < each.last - each.first <= piece for each in found)
        if new is not None:
            for each in found:
                at_edge = each.first == 0 if left_to_right else each.last == tokens
                assert each.last - each.first == piece or at_edge


@pytest.fixture(scope="module", params=["left_to_right", "right_to_left"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Candidate, Path]:
    """Return a candidate, and a folder with its checkpoint, the vocabulary and a text of two articles."""
    folder = tmp_path_factory.mktemp(request.param)
    for name in ("pretrained", "tokens"):
        (folder / name).mkdir()
    learner = candidate(request.param)
    model = build_model(learner, None, 1)
    stir(model)
    save_checkpoint(folder / "pretrained" / "checkpoint", model, build_optimiser(model, learner.recipe), {})
    WORDS.save(folder / "tokens")
    random = np.random.default_rng(1)
    words = [" ".join(f"w{random.integers(35)}" for _ in range(count)) for count in (17, 9)]
    (folder / "text").write_text(f" = {words[0]} =\n = {words[1]} strange =\n")
    return learner, folder


def measured(trained: tuple[Candidate, Path], new_tokens: int | None) -> PerplexityResult:
    learner, folder = trained
    text = LanguageModelText(path=str(folder / "text"), layout="wikitext")
    stage = PerplexityStage(
        candidate=learner, name="notes", text=text, read=text.inputs(), length=LENGTH, new_tokens=new_tokens
    )
    inputs = {name: folder / name for name in ("pretrained", "tokens")}
    result = stage.compute(StageContext(inputs, folder, ProgressFile(folder / "progress")))
    read = read_result("perplexity", Status.FINISHED, json.dumps(result))
    assert isinstance(read, PerplexityResult)
    return read


@pytest.mark.parametrize("new_tokens", [None, 3])
@torch.no_grad()
def test_the_sum_equals_a_loop_over_the_tokens(trained: tuple[Candidate, Path], new_tokens: int | None) -> None:
    learner, folder = trained
    found = measured(trained, new_tokens)
    model = build_model(learner, None, 1)
    stir(model)
    model.eval()
    articles = [WORDS.encode([line])[0] for line in (folder / "text").read_text().splitlines()]
    stream = [*articles[0], WORDS.separate, *articles[1]]
    forward = learner.architecture.visibility == "left_to_right"
    total, count = 0.0, 0
    for place, token in enumerate(stream):
        if token == WORDS.separate:
            continue
        new = new_tokens or LENGTH - 2
        start = place // new * new
        end = min(start + new, len(stream))
        first, last = start, end
        if new_tokens is not None:
            first, last = (
                (max(0, end - (LENGTH - 2)), end) if forward else (start, min(len(stream), start + LENGTH - 2))
            )
        window = [WORDS.classify, *stream[first:last], WORDS.separate]
        reader = place - first + 1 + (-1 if forward else 1)
        x = model.encoder(torch.tensor([window]))[0, reader][None]
        total += cross_entropy(model.head(x, model.token_table), torch.tensor([token])).item()  # type: ignore[operator]
        count += 1
    assert (found.tokens, found.unknown) == (count, stream.count(WORDS.unknown))
    assert found.nats == pytest.approx(total, rel=1e-5)


def test_more_context_changes_the_loss_and_units_follow_from_the_sum(trained: tuple[Candidate, Path]) -> None:
    one, other = measured(trained, None), measured(trained, 3)
    assert one.nats != other.nats
    assert one.measures == {
        "perplexity_per_token": math.exp(one.nats / one.tokens),
        "perplexity_per_word": math.exp(one.nats / one.words),
        "bits_per_character": one.nats / math.log(2) / one.characters,
    }
    huge = one.model_copy(update={"nats": 1e9})
    assert huge.measures["perplexity_per_token"] == math.inf


def experiment(folder: Path, objective: str = "language_model", **measure: Any) -> Experiment:
    (folder / "notes.txt").write_text("some words")
    recipe = {"sequence_length": 16, "batch_sequences": 4}
    baseline = {"architecture": {"visibility": "left_to_right"}, "objective": {"kind": objective}, "recipe": recipe}
    texts = {"notes": {"path": str(folder / "notes.txt")}}
    settings = {"perplexity": {"texts": texts, **measure}}
    design = {"kind": "list", "arms": {"deep": {"depth": 13}}}
    return simulated.small_table(folder, baseline=baseline, design=design, measure=settings)


def test_each_text_is_a_stage_whose_key_has_its_content(tmp_path: Path) -> None:
    found = experiment(tmp_path)
    assert "perplexity notes" in all_labels(found)
    first = trial_stages(found, shared_stages(found), found.baseline, 1)["perplexity notes"]
    (tmp_path / "notes.txt").write_text("other words")
    second = trial_stages(found, shared_stages(found), found.baseline, 1)["perplexity notes"]
    assert first.key != second.key


@pytest.mark.parametrize(
    ("objective", "measure", "line"),
    [
        ("masked_language_model", {}, "baseline, deep: no language model, so that a text has no probability"),
        ("language_model", {"new_tokens": 15}, "15 is more than the 14 tokens of a window without [CLS] and [SEP]"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    objective: str, measure: dict[str, Any], line: str, tmp_path: Path
) -> None:
    found = [each for each in violations_of(experiment(tmp_path, objective, **measure)) if each.path[0] == "measure"]
    assert [each.message.startswith(line) for each in found] == [True]
