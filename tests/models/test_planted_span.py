"""What only a span can decide: a cue two places away says which neighbour of one and the same centre to copy.

A kernel made from the centre token alone, or from nothing, is the same under either cue. All that the cue can then
do is to add a term of its own to the readout, whatever the neighbours are. The branch stands alone here: attention
reads the cue too, and would solve the problem beside any mode. Every branch is trained alike.
"""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from search_space.convolution import Convolution
from search_space.convolution.kernel import WithKernel
from search_space.shape import AttentionShape
from steeplechase.models.initialisation import initialise
from tests.factories.branch_harness import Beside
from tests.factories.small_experiments import of_table_2, stir, title, variants
from tests.factories.updates import updates

WORDS, CENTRE, CUES = 16, 16, (17, 18)  # the words 0 to 15 may be copied
LEFT_PLACE, CENTRE_PLACE, RIGHT_PLACE, LENGTH = 1, 2, 3, 5
CUE_PLACES = (0, 4)  # two to the left of the centre, two to the right; the other one holds a word
SHAPE = AttentionShape(width=24, heads=1, head_width=24)
STEPS, BATCH, HELD_OUT = 200, 256, 4096
# Who always copies one side is right there, and on the other side where both hold the same word. Beyond that, four
# standard deviations of a binomial count of the held-out questions: one time in 30 000 by accident.
BLIND = 1 / 2 + 1 / (2 * WORDS)
CHANCE = 4 * math.sqrt(BLIND * (1 - BLIND) / HELD_OUT)
BRANCHES = [each for each in of_table_2(variants(LENGTH)) if isinstance(each, WithKernel)]
every_branch = pytest.mark.parametrize("option", BRANCHES, ids=title)


class Copier(nn.Module):
    """Tokens, a query, one branch with one head, and a linear readout at the centre."""

    def __init__(self, option: Convolution) -> None:
        super().__init__()
        self.tokens = nn.Embedding(WORDS + 3, SHAPE.width)
        self.query = nn.Linear(SHAPE.width, SHAPE.inner_width)
        self.beside = Beside(option, SHAPE)
        self.readout = nn.Linear(SHAPE.inner_width, WORDS)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return a logit per word; shape [batch words]."""
        x = self.tokens(tokens)
        logits: Tensor = self.readout(self.beside(x, self.query(x))[:, CENTRE_PLACE])
        return logits


def questions(count: int, generator: torch.Generator, cue_place: int) -> tuple[Tensor, Tensor]:
    """Return sequences of random tokens around the centre, one of them the cue, and the neighbour that it selects."""
    tokens = torch.randint(WORDS, (count, LENGTH), generator=generator)
    cue = torch.randint(2, (count,), generator=generator)
    tokens[:, CENTRE_PLACE] = CENTRE
    tokens[:, cue_place] = torch.tensor(CUES)[cue]
    return tokens, torch.where(cue == 0, tokens[:, LEFT_PLACE], tokens[:, RIGHT_PLACE])


def trained(option: Convolution, cue_place: int, seed: int = 1) -> Copier:
    model, generator = Copier(option), torch.Generator().manual_seed(seed)
    initialise(model, seed)
    stir(model)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in updates(STEPS):
        tokens, answers = questions(BATCH, generator, cue_place)
        loss = cross_entropy(model(tokens), answers)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


@pytest.mark.parametrize("cue_place", CUE_PLACES)
@every_branch
def test_only_a_span_dynamic_kernel_solves_the_task(option: Convolution, cue_place: int) -> None:
    tokens, answers = questions(HELD_OUT, torch.Generator().manual_seed(1000), cue_place)
    right = (trained(option, cue_place)(tokens).argmax(-1) == answers).double().mean().item()
    if option.kind == "span_dynamic":
        assert right == 1.0
    else:
        assert abs(right - BLIND) < CHANCE
