"""Every option keeps its contracts, from another folder too; a wrong one breaks those that it is wrong in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from search_space.corruption import TokenMasking
from search_space.corruption.option import Context, Corrupted, CorruptionOption
from steeplechase.foundation.numpy_on_use import Numbers
from steeplechase.foundation.schema import OpenOption, options_of
from steeplechase.tasks.contracts import candidates as of_candidates
from steeplechase.tasks.contracts.candidates import CONTRACTS, candidate_contracts
from steeplechase.tasks.contracts.corruptions import CONTRACTS as CORRUPTION_CONTRACTS
from steeplechase.tasks.contracts.corruptions import corruption_contracts
from steeplechase.tasks.contracts.small_candidates import PLACED
from tests.factories.paths import ROOT
from tests.factories.plugins import copy_of, loaded, replaced

pytestmark = pytest.mark.usefixtures("training_without_checks")

KIND = "objective shuffled_token_detection"
SKIPPED = {"objective supersense"}  # it needs a table of supersenses
FAULTS = {
    "parameters = linear_parameters(architecture.width, 1)": (
        "parameters = architecture.width",
        "parameters are those of the built module",
        "parameters beside the encoder: declared 24, built 25",
    ),
    "row[places] = random.permutation(row[places])": (
        "row[places] = np.random.permutation(row[places])",
        "a batch is a function of its sequences and the random stream",
        "two batches of the same sequences and the same random stream differ",
    ),
    "inputs = sequences.tokens.copy()": (
        "inputs = sequences.tokens",
        "a batch is a function of its sequences and the random stream",
        "prepare() changes the tokens of its sequences",
    ),
    "return self.inputs.size": (
        "return 1",
        "micro-batches add up to the batch",
        "the gradient of two micro-batches differs from the batch's by up to",
    ),
    "hidden = self.encoder(self.tensor(inputs))": (
        "hidden = self.encoder(self.tensor(inputs)).detach()",
        "gradients reach every parameter",
        "no gradient: encoder.embeddings.tokens.weight",
    ),
    "self.tensor(batch.moved)),)": (
        "self.tensor(batch.moved)) * np.nan,)",
        "training lowers the loss",
        "40 updates on one batch: the loss was nan and is nan nats",
    ),
    "targets = self.tensor(part.targets).float()": (
        "targets = self.tensor(part.targets) * np.nan",
        "the evaluation set is the same for all arms",
        "held_out_losses: some losses are not finite",
    ),
}


def options() -> dict[str, type[OpenOption]]:
    """Return every option by its axis and its name."""
    every = {axis.package.rpartition(".")[2]: options_of(axis) for axis in PLACED}
    return {f"{axis} {each.model_fields['kind'].default}": each for axis, found in every.items() for each in found}


@pytest.mark.parametrize("kind", options())
def test_every_option_keeps_every_contract(kind: str) -> None:
    found = [*candidate_contracts(options()[kind])]
    assert [each for each in found if each.problem] == []
    assert bool([each for each in found if each.skipped]) == (kind in SKIPPED)
    contracts = len(CONTRACTS) + len(CORRUPTION_CONTRACTS) * kind.startswith("corruption")
    assert len(found) == (1 if kind in SKIPPED else contracts * len(options()[kind].examples))


def test_a_correct_objective_from_another_folder_keeps_every_contract() -> None:
    with loaded(ROOT / "examples" / "shuffled_tokens"):
        found = [*candidate_contracts(options()[KIND])]
    assert len(found) == len(CONTRACTS)
    assert [each for each in found if each.problem or each.skipped] == []


@pytest.mark.parametrize("right", FAULTS)
def test_a_wrong_objective_breaks_the_contract_it_is_wrong_in(
    tmp_path: Path, right: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, contract, problem = FAULTS[right]
    monkeypatch.setattr(of_candidates, "CONTRACTS", {contract: CONTRACTS[contract]})
    folder = copy_of(ROOT / "examples" / "shuffled_tokens", tmp_path / "plugin")
    assert replaced(folder, right, wrong) >= 1
    with loaded(folder):
        (found,) = candidate_contracts(options()[KIND])
    assert found.contract == contract
    assert found.problem.startswith(problem)


Change = Callable[[Corrupted, Numbers], Corrupted]


def _writes_text(row: Corrupted, tokens: Numbers) -> Corrupted:
    tokens[0] = 5 + (tokens[0] - 4) % 30
    return row


def _own_stream(row: Corrupted, tokens: Numbers) -> Corrupted:
    return replace(row, source=np.random.default_rng().permutation(np.arange(len(tokens) + 20) % 40))


def _reads_target(row: Corrupted, tokens: Numbers) -> Corrupted:
    return replace(row, inputs=np.where(row.targets < 0, row.inputs, row.targets))


def _one_less(row: Corrupted, tokens: Numbers) -> Corrupted:
    return replace(row, inputs=row.inputs[:-1], places=row.places[:-1], targets=row.targets[:-1])


def _short_places(row: Corrupted, tokens: Numbers) -> Corrupted:
    return replace(row, places=row.places[:-1])


def _far_places(row: Corrupted, tokens: Numbers) -> Corrupted:
    return replace(row, places=row.places + 2)


def _outside(row: Corrupted, tokens: Numbers) -> Corrupted:
    return replace(row, source=np.append(row.source, 40))


CORRUPTION_FAULTS: dict[Change, tuple[str, str]] = {
    _writes_text: ("a row is a function of its text and the random stream", "corrupted() changes the tokens"),
    _own_stream: ("a row is a function of its text and the random stream", "two corruptions of 1 tokens"),
    _one_less: ("predictions are those declared", "predictions of 1 tokens: declared"),
    _short_places: ("each step has an input, a place and a target", "inputs, places, targets: "),
    _far_places: ("each step has an input, a place and a target", "places of a text of 1 tokens are from"),
    _outside: ("each step has an input, a place and a target", "source: "),
    _reads_target: ("no step reads its target", "the input of step 0 shows the target of step 0"),
}


@pytest.mark.parametrize("change", CORRUPTION_FAULTS, ids=lambda change: change.__name__)
def test_a_wrong_corruption_breaks_its_contract(change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    right = TokenMasking.corrupted

    def wrong(chosen: CorruptionOption, tokens: Numbers, context: Context) -> Corrupted:
        return change(right(chosen, tokens, context), tokens)

    monkeypatch.setattr(TokenMasking, "corrupted", wrong)
    contract, problem = CORRUPTION_FAULTS[change]
    found = {each.contract: each.problem for each in corruption_contracts(TokenMasking(), "wrong")}
    assert found.keys() == CORRUPTION_CONTRACTS.keys()
    assert found[contract].startswith(problem)
