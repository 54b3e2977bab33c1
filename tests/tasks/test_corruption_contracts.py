"""A wrong corruption breaks the contract that it is wrong in; the right ones are in `test_candidate_contracts`."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from search_space.corruption import CorruptionOption, Fragment, Rotation, TokenMasking
from tasks import corruption_contracts
from tasks.corruption import Context, Corrupted, Numbers, corrupt
from tasks.corruption_contracts import CONTRACTS

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


FAULTS: dict[Change, tuple[str, str]] = {
    _writes_text: ("a row is a function of its text and the random stream", "corrupted() changes the tokens"),
    _own_stream: ("a row is a function of its text and the random stream", "two corruptions of 1 tokens"),
    _one_less: ("predictions are those declared", "predictions of 1 tokens: declared"),
    _short_places: ("each step has an input, a place and a target", "inputs, places, targets: "),
    _far_places: ("each step has an input, a place and a target", "places of a text of 1 tokens are from"),
    _outside: ("each step has an input, a place and a target", "source: "),
    _reads_target: ("no step reads its target", "the input of step 0 shows the target of step 0"),
}


@pytest.mark.parametrize("change", FAULTS, ids=lambda change: change.__name__)
@pytest.mark.parametrize("option", [TokenMasking(), Rotation(), Fragment()], ids=str)
def test_a_wrong_corruption_breaks_its_contract(
    change: Change, option: CorruptionOption, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(tokens: Numbers, chosen: CorruptionOption, context: Context) -> Corrupted:
        return change(corrupt(tokens, chosen, context), tokens)

    monkeypatch.setattr(corruption_contracts, "corrupt", wrong)
    contract, problem = FAULTS[change]
    found = {each.contract: each.problem for each in corruption_contracts.corruption_contracts(option, "wrong")}
    assert found.keys() == CONTRACTS.keys()
    assert found[contract].startswith(problem)
