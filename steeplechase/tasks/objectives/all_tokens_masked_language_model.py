"""All-Tokens MLM: predict or copy every token of an input that a generator corrupted. ELECTRA (Clark et al. 2020)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.selection.numbering import NOT_PREDICTED
from steeplechase.models.heads.logit import LogitHead, mixed
from steeplechase.models.heads.masked_language_model import gather_masked
from steeplechase.models.precision import to_float32
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives import replace_masked_language_model
from steeplechase.tasks.objectives.generated_tokens import CorruptedInputs
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors


class Model(replace_masked_language_model.Model):
    """Replace MLM with a loss at every token, and a copy mechanism: the input token has a probability of its own."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate, generator)
        self.copy = LogitHead(
            candidate.architecture.width, "copy"
        )  # the logit of the probability D of the input token

    def own_predictions(self, batch: MaskedBatch) -> int:
        """Return the number of all tokens."""
        return batch.inputs.size

    def own_loss(self, corrupted: CorruptedInputs, batch: MaskedTensors) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats of the original tokens in the mixture, over every token."""
        hidden = self.encoder(corrupted.inputs).flatten(0, 1)
        originals = originals_of(batch).flatten()
        losses = cross_entropy(to_float32(self.head(hidden, self.token_table)), originals, reduction="none")
        is_input = originals == corrupted.inputs.flatten()
        return -mixed(self.copy(hidden), -losses, is_input).mean()

    def predict(
        self, inputs: Int[Tensor, "batch seq"], positions: Int[Tensor, "batch predictions"]
    ) -> Float[Tensor, "predicted vocab"]:
        """Return the log-probabilities of the mixture at the predicted positions, row by row."""
        hidden = gather_masked(self.predicting_vectors(inputs), positions)
        words = log_softmax(to_float32(self.head(hidden, self.token_table)), -1)
        is_input = torch.zeros_like(words, dtype=torch.bool)
        is_input.scatter_(1, inputs.gather(1, positions).reshape(-1, 1), True)
        return mixed(self.copy(hidden)[:, None].expand_as(words), words, is_input)


def originals_of(batch: MaskedTensors) -> Int[Tensor, "batch seq"]:
    """Return the tokens before masking."""
    inputs, positions, targets = batch.inputs, batch.positions, batch.targets
    tokens = torch.where(targets == NOT_PREDICTED, inputs.gather(1, positions), targets)
    return inputs.scatter(1, positions, tokens)
