"""Stages on the frozen encoder: sentence scores by definition, probes equal to scikit-learn's, weights unchanged."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch.nn.functional import log_softmax, logsigmoid

from runners.computing.linear_probe import fit_probe, word_vectors
from runners.frozen_scoring import frozen_scores
from runners.stages.context import ProgressFile, StageContext
from runners.stages.linear_probe import LinearProbeStage
from runners.stages.minimal_pairs import MinimalPairsStage, sentence_scores
from runners.stages.untrained import UntrainedStage
from runners.training.checkpoint import load_weights
from search_space.candidate import Candidate
from search_space.objective import MaskedLanguageModel, Objective
from steeplechase.foundation.atomic_files import sha256_of
from steeplechase.models.encoder import Encoder
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.encoding import save_examples
from steeplechase.tasks.labelled.forms import encode_pairs, encode_words, save_groups, save_words
from steeplechase.tasks.labelled.task import Example
from steeplechase.tasks.objectives import (
    all_tokens_masked_language_model,
    build_model,
    language_model,
    replaced_token_detection,
)
from steeplechase.tasks.objectives.masked_tokens import MaskedTokenModel
from tests.factories.small_experiments import OBJECTIVES, SPAN_DYNAMIC, WORDS, candidate, stir

LENGTH = 16
EACH_OBJECTIVE = pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.kind)


def learner(objective: Objective) -> Candidate:
    return candidate(SPAN_DYNAMIC, objective)


def words(count: int, seed: int) -> str:
    return " ".join(f"w{number}" for number in np.random.default_rng(seed).integers(0, 30, count))


PAIRS = [Example(words(2 + n % 5, n), words(2 + n % 5, 99 - n), group="odd" if n % 2 else "even") for n in range(9)]
PAIRS.append(Example("w1", "\u00ad", group="odd"))  # the second sentence has no tokens


def context(folder: Path, **inputs: Path) -> StageContext:
    (folder / "work").mkdir(parents=True, exist_ok=True)
    return StageContext(inputs, folder / "work", ProgressFile(folder / "progress.json"))


def untrained_checkpoint(folder: Path, objective: Objective) -> Path:
    """Write an untrained checkpoint, and return its folder."""
    chosen = learner(objective)
    generator = chosen.objective.generator_of(chosen.architecture, chosen.architecture)
    result = UntrainedStage(candidate=chosen, generator=generator, seed=3).compute(context(folder))
    assert result["parameters"] == chosen.architecture.parameters
    return folder / "work"


@EACH_OBJECTIVE
def test_a_sentence_score_is_the_pseudo_log_likelihood_by_definition(objective: Objective, tmp_path: Path) -> None:
    chosen = learner(objective)
    generator = chosen.objective.generator_of(chosen.architecture, chosen.architecture)
    model = build_model(chosen, generator, 1).eval()
    stir(model)
    sentences = encode_pairs(PAIRS, WORDS, LENGTH)
    stage = MinimalPairsStage(candidate=chosen, generator=generator, task="blimp")
    found = sentence_scores(model, sentences, WORDS.mask, stage, context(tmp_path))
    for row, length, score in zip(sentences.tokens, sentences.lengths, found, strict=True):
        tokens = torch.from_numpy(row[: int(length)].astype(np.int64))[None]
        with torch.inference_mode():
            expected = sum(float(log_probability(model, tokens, position)) for position in range(1, int(length) - 1))
        assert score == pytest.approx(expected, abs=1e-4)


def log_probability(model: torch.nn.Module, tokens: torch.Tensor, position: int) -> torch.Tensor:
    """Return the log-probability of the token at a position, by the definition of the objective's score."""
    if isinstance(model, replaced_token_detection.Model):
        return logsigmoid(-model.judge(model.encoder(tokens))[0, position])
    if isinstance(model, language_model.Model):  # by what is before it, as in the candidate's direction
        logits = model.head(model.encoder(tokens[:, :position])[0, -1][None], model.token_table)[0]
        return log_softmax(logits, -1)[tokens[0, position]]
    assert isinstance(model, MaskedTokenModel)
    masked = tokens.clone()
    masked[0, position] = WORDS.mask
    hidden = model.encoder(masked)[0, position][None]
    words = log_softmax(model.head(hidden, model.token_table)[0], -1)[tokens[0, position]]
    if isinstance(model, all_tokens_masked_language_model.Model):  # [MASK] is no copy of the token
        return words + logsigmoid(-model.copy(hidden)[0])
    return words


def test_the_driver_scores_the_predictions_of_the_minimal_pairs_stage(tmp_path: Path) -> None:
    objective = MaskedLanguageModel()
    chosen, checkpoint = learner(objective), untrained_checkpoint(tmp_path / "encoder", objective)
    before = hashes(checkpoint)
    (tmp_path / "examples" / "dev").mkdir(parents=True)
    save_examples(encode_pairs(PAIRS, WORDS, LENGTH), tmp_path / "examples" / "dev")
    save_groups(PAIRS, tmp_path / "examples" / "dev")
    WORDS.save(tmp_path)
    generator = chosen.objective.generator_of(chosen.architecture, chosen.architecture)
    stage = MinimalPairsStage(candidate=chosen, generator=generator, task="blimp")
    stage_context = context(tmp_path, pretrained=checkpoint, examples=tmp_path / "examples", tokens=tmp_path)
    assert stage.compute(stage_context) == {"examples": len(PAIRS)}
    scores = json.loads((stage_context.folder / "predictions.json").read_text())
    assert scores[-1][1] == 0.0  # no tokens
    found = frozen_scores(find_task("blimp"), tmp_path / "examples", stage_context.folder)
    correct = [float(good > bad) for good, bad in scores]
    assert found["scores"] == {"accuracy": pytest.approx(100 * np.mean(correct))}
    assert found["groups"] == {
        "even": 100 * np.mean(correct[:9:2]),
        "odd": 100 * np.mean([*correct[1:9:2], correct[9]]),
    }
    assert hashes(checkpoint) == before


def hashes(folder: Path) -> dict[str, str]:
    return {str(path): sha256_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def tagged(count: int, seed: int) -> list[Example]:
    """Return sentences in which the tag of a word is its number modulo 5."""
    texts = [words(3 + number % 7, seed + number) for number in range(count)]
    return [Example(text, tags=tuple(int(word[1:]) % 5 for word in text.split(" "))) for text in texts]


def test_the_probe_equals_scikit_learns_logistic_regression() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(300, 8)) * np.arange(1, 9) + 3
    tags = (x @ random.normal(size=(8, 4)) + random.gumbel(size=(300, 4))).argmax(1)
    mean, deviation, weights, biases = fit_probe(torch.tensor(x, dtype=torch.float32), torch.tensor(tags), 4)
    scaled = StandardScaler().fit_transform(x)
    reference = LogisticRegression(C=1.0, tol=1e-8, max_iter=5000).fit(scaled, tags)
    logits = ((torch.tensor(x, dtype=torch.float32) - mean) / deviation) @ weights.T + biases
    assert logits.softmax(-1).numpy() == pytest.approx(reference.predict_proba(scaled), abs=2e-3)


def test_word_vectors_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    chosen = learner(MaskedLanguageModel())
    encoder = Encoder(chosen.architecture, 0.0)
    load_weights(untrained_checkpoint(tmp_path, MaskedLanguageModel()) / "checkpoint", encoder, "encoder.")
    stir(encoder)
    encoded = encode_words(tagged(7, 1), WORDS, LENGTH)
    layers = word_vectors(encoder.eval(), encoded)
    assert len(layers) == chosen.architecture.depth + 1
    position = 0
    for row, length in zip(encoded.sequences.tokens, encoded.sequences.lengths, strict=True):
        with torch.inference_mode():
            alone = encoder(torch.from_numpy(row[: int(length)].astype(np.int64))[None])[0, 1:-1]
        assert torch.allclose(layers[-1][position : position + len(alone)], alone, atol=1e-5)
        position += len(alone)
    assert position == len(layers[-1])


def test_the_driver_scores_the_predictions_of_the_linear_probe_stage(tmp_path: Path) -> None:
    checkpoint = untrained_checkpoint(tmp_path / "encoder", MaskedLanguageModel())
    before = hashes(checkpoint)
    for part, count, seed in (("train", 80, 1), ("dev", 20, 1000)):
        (tmp_path / "examples" / part).mkdir(parents=True)
        save_words(encode_words(tagged(count, seed), WORDS, LENGTH), tmp_path / "examples" / part)
    chosen = learner(MaskedLanguageModel())
    stage = LinearProbeStage(architecture=chosen.architecture, task="pos_ewt")
    stage_context = context(tmp_path, pretrained=checkpoint, examples=tmp_path / "examples")
    assert stage.compute(stage_context) == {"examples": 20}
    found = frozen_scores(find_task("pos_ewt"), tmp_path / "examples", stage_context.folder)
    layers = found["layers"]
    assert isinstance(layers, list)
    assert len(layers) == chosen.architecture.depth + 1
    assert found["scores"] == {"accuracy": layers[-1]}
    assert float(str(layers[0])) > 60  # the embedding of a word determines its tag; chance is 20
    assert hashes(checkpoint) == before
