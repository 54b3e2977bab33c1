"""Contracts of the options that a candidate is made of: what a declaration and its module promise each other.

An option of an objective, a selection, a packing, an output layer, a placement of norms or a kind of positions is
placed in a candidate of two blocks of width 24 and measured on a small text, in this repository and in plugins, at
each of its `examples`; so is an option of a corruption or of a generator's training.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.corruption.option import CorruptionOption
from search_space.packing.sequences import Sequences
from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import OpenOption
from steeplechase.models.contract import Broken, Outcome, outcomes_at_examples, outcomes_of, survives_json
from steeplechase.tasks.contracts.corruptions import corruption_contracts
from steeplechase.tasks.contracts.small_candidates import LENGTH, ROWS, WORDS, placed, sequences
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.objectives import build_model, model_class
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource, PretrainingModel
from steeplechase.tasks.progress import silent

LARGEST_ROUNDING, LARGEST_CHANGE = 1e-4, 1e-4
"""Of a gradient in float32, relative to the largest one, and of a vector by padding."""
UPDATES, LEARNING_RATE, LOWERED = 40, 5e-3, 0.95
"""Updates on one batch, and the share of its first loss that the last one is below."""


def candidate_contracts(kind: type[OpenOption]) -> Iterator[Outcome]:
    """Return the outcome of every contract at every example of an option."""
    return outcomes_at_examples(kind, outcomes)


def outcomes(option: OpenOption, title: str) -> Iterator[Outcome]:
    """Yield the outcome of every contract for an option with its settings."""
    if isinstance(option, CorruptionOption):
        yield from corruption_contracts(option, title)
    candidate = placed(option)
    if candidate is None:
        yield Outcome(title, "loaded", skipped="no objective of the contracts reads it")
    elif violations := [*candidate.violations()]:
        yield Outcome(title, "loaded", skipped=f"the contracts' candidate breaks a rule: {violations[0].message}")
    else:
        yield from outcomes_of(CONTRACTS, candidate, title)


def parameters_are_those_built(candidate: Candidate) -> None:
    """Check the closed forms of the encoder and of what the objective adds against the built model."""
    model = model_of(candidate)
    of_encoder = sum(each.numel() for each in model.encoder.parameters())
    added = sum(each.numel() for each in model.parameters()) - of_encoder
    declared = candidate.objective.head_parameters(candidate.architecture, _generator(candidate))
    if declared != added:
        raise Broken(f"parameters beside the encoder: declared {declared}, built {added}")
    if candidate.architecture.parameters != of_encoder:
        raise Broken(f"parameters of the encoder: declared {candidate.architecture.parameters}, built {of_encoder}")


def batch_is_a_function_of_its_stream(candidate: Candidate) -> None:
    """Prepare the same sequences with equal and with other random streams; sequences are read only."""
    model, read = model_of(candidate), _sequences(candidate)
    before = read.tokens.copy()
    first, again, other = (_arrays(model.prepare(read, WORDS, stream(1, "contract", step))) for step in (3, 3, 4))
    if not np.array_equal(before, read.tokens):
        raise Broken("prepare() changes the tokens of its sequences")
    if not _same(first, again):
        raise Broken("two batches of the same sequences and the same random stream differ")
    declared = candidate.objective.corrupts_at_random
    if _same(first, other) == declared:
        what = "do not differ" if declared else "differ"
        raise Broken(f"corrupts_at_random is {declared}, and batches of two random streams {what}")


def micro_batches_add_up(candidate: Candidate) -> None:
    """Compare the gradient of a batch with the sum over its micro-batches, weighted by their predictions."""
    model = model_of(candidate)
    batch = model.prepare(_sequences(candidate), WORDS, np.random.default_rng(1))
    whole = _gradients(model, [(batch, model.predictions_of_terms(batch))])
    totals = model.predictions_of_terms(batch)
    parts = _gradients(model, [(part, totals) for part in batch.micro_batches(2)])
    scale = max(each.abs().max().item() for each in whole.values())
    change = max((whole[name] - parts[name]).abs().max().item() for name in whole)
    if not change <= LARGEST_ROUNDING * max(scale, 1e-8):
        raise Broken(
            f"the gradient of two micro-batches differs from the batch's by up to {change:.2g} of {scale:.2g}"
        )


def loss_without_words_is_finite(candidate: Candidate) -> None:
    """Check the loss and the gradients of sequences of separators, of which nothing can be predicted."""
    model, read = model_of(candidate), _sequences(candidate)
    read.tokens[:, 1:] = WORDS.separate
    model.loss(model.prepare(read, WORDS, np.random.default_rng(1)), np.random.default_rng(1)).backward()
    for name, each in model.named_parameters():
        if each.grad is not None and not each.grad.isfinite().all():
            raise Broken(f"sequences of separators alone: the gradient of {name} is not finite")


def gradients_reach_every_parameter(candidate: Candidate) -> None:
    """Check that the loss depends on every parameter, at the first update or where the encoder is trained."""
    model = model_of(candidate)
    batch = model.prepare(_sequences(candidate, 24), WORDS, np.random.default_rng(1))
    reached: set[str] = set()
    for update in sorted({0, candidate.recipe.steps(candidate.objective.tokens_before_encoder)}):
        model.start_update(update)
        model.loss(batch, np.random.default_rng(1)).backward()
        reached |= {name for name, each in model.named_parameters() if each.grad is not None and each.grad.any()}
    silent_ones = [name for name, _ in model.named_parameters() if name not in reached]
    if silent_ones:
        raise Broken(f"no gradient: {', '.join(silent_ones)}")


def padding_changes_no_other_position(candidate: Candidate) -> None:
    """Check that neither the content nor the amount of padding changes the vectors of other tokens."""
    encoder = model_of(candidate).encoder.eval()
    tokens = torch.from_numpy(_sequences(candidate).tokens)
    real = tokens.shape[1] - 3
    mask = (torch.arange(tokens.shape[1]) < real).expand(len(tokens), -1)
    other = torch.where(mask, tokens, tokens.flip(0))
    with torch.inference_mode():
        shown = encoder(tokens, None, mask)[:, :real]
        outputs = {"content": encoder(other, None, mask)[:, :real], "amount": encoder(tokens[:, :real])}
    for what, found in outputs.items():
        change = (shown - found).abs().max().item()
        if not change <= LARGEST_CHANGE:
            raise Broken(f"the {what} of padding changes other positions by up to {change:.2g}")


def training_lowers_the_loss(candidate: Candidate) -> None:
    """Train on one batch, until the loss of three updates in a row is lower."""
    model = model_of(candidate)
    batch = model.prepare(_sequences(candidate), WORDS, np.random.default_rng(1))
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    losses = []
    for _ in range(UPDATES):
        optimiser.zero_grad()
        loss = model.loss(batch, np.random.default_rng(1))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if all(each < LOWERED * losses[0] for each in losses[-3:]):
            return
    raise Broken(f"{UPDATES} updates on one batch: the loss was {losses[0]:.4g} and is {losses[-1]:.4g} nats")


def evaluation_set_is_repeated(candidate: Candidate) -> None:
    """Make the evaluation set twice, save and load it, and measure every prediction."""
    made, again = _evaluation_set(candidate), _evaluation_set(candidate)
    if not _same(_arrays(made), _arrays(again)):
        raise Broken("two evaluation sets of the same sequences and the same seed differ")
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder))
        read = EvaluationSet.load(Path(folder))
    objective = candidate.objective
    if not objective.measured_on(objective.evaluation):
        raise Broken(f"measured_on({objective.evaluation!r}) is False, and this is its evaluation")
    with torch.inference_mode():
        losses = model_of(candidate).eval().held_out_losses(read)
    if losses.shape != made.targets.shape:
        raise Broken(f"held_out_losses: shape {losses.shape}; the targets have {made.targets.shape}")
    if not np.isfinite(losses).all():
        raise Broken("held_out_losses: some losses are not finite")


def sentences_have_scores(candidate: Candidate) -> None:
    """Check the pseudo-log-likelihoods of some sentences: one finite number each."""
    sentences = _sequences(candidate, 5).tokens[:, :9].copy()
    sentences[:, -1] = WORDS.separate
    with torch.inference_mode():
        scores = model_of(candidate).eval().pseudo_log_likelihoods(sentences, WORDS.mask)
    if scores.shape != (len(sentences),) or not np.isfinite(scores).all():
        raise Broken(f"pseudo_log_likelihoods of {len(sentences)} sentences: {scores}")


CONTRACTS: Mapping[str, Callable[[Candidate], None]] = {
    "the declaration survives JSON": survives_json,
    "parameters are those of the built module": parameters_are_those_built,
    "a batch is a function of its sequences and the random stream": batch_is_a_function_of_its_stream,
    "micro-batches add up to the batch": micro_batches_add_up,
    "sequences without words have a finite loss": loss_without_words_is_finite,
    "gradients reach every parameter": gradients_reach_every_parameter,
    "padding is the end of the sequence": padding_changes_no_other_position,
    "training lowers the loss": training_lowers_the_loss,
    "the evaluation set is the same for all arms": evaluation_set_is_repeated,
    "sentences have scores": sentences_have_scores,
}
"""By what `check` prints."""


def _generator(candidate: Candidate) -> Architecture | None:
    return candidate.objective.generator_of(candidate.architecture, candidate.architecture)


def model_of(candidate: Candidate) -> PretrainingModel[Any]:
    """Return the model with every parameter moved from its start, so that none is zero by initialisation."""
    generator = torch.Generator().manual_seed(1)
    model = build_model(candidate, _generator(candidate), 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.05)
    return model


def _sequences(candidate: Candidate, rows: int = ROWS) -> Sequences:
    return sequences(candidate.objective, LENGTH).at(0, rows, 1)


def _evaluation_set(candidate: Candidate) -> EvaluationSet:
    objective = candidate.objective
    generator = objective.reference_generator(candidate.architecture)
    changes = {"architecture": generator or candidate.architecture, "objective": objective.reference}
    reference = candidate.model_copy(update=changes)
    rows = sequences(objective.reference, LENGTH).at(0, ROWS, 1)
    model = None if generator is None else build_model(reference, None, 1)
    source = EvaluationSource(reference, rows, WORDS, model, silent)
    return model_class(objective.evaluation).evaluation_set(source)


def _gradients(model: PretrainingModel[Any], parts: list[tuple[Any, tuple[int, ...]]]) -> dict[str, Tensor]:
    """Return the summed gradients of parts of a batch, each term weighted by its share of the predictions."""
    model.zero_grad(set_to_none=True)
    random = np.random.default_rng(2)
    for part, totals in parts:
        first, *others = model.shares(part, totals, random)
        sum(others, first).backward()
    return {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}


def _arrays(batch: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a batch by name, those of its groups of arrays with the number of the group."""
    found = {field.name: getattr(batch, field.name) for field in fields(batch)}
    for number, group in enumerate(found.pop("auxiliary", ())):
        found |= {f"{number} {name}": value for name, value in _arrays(group).items()}
    return found


def _same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
