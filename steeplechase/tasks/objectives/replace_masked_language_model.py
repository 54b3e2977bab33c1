"""Replace MLM: predict the tokens that a generator replaced. Clark et al. 2020 (ELECTRA), arXiv 2003.10555, 3.4."""

from jaxtyping import Float
from torch import Tensor

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.tasks.evaluation_set import EvaluationSet
from steeplechase.tasks.masking import MaskedBatch
from steeplechase.tasks.objectives import replaced_token_detection
from steeplechase.tasks.objectives.generated_tokens import CorruptedInputs
from steeplechase.tasks.objectives.generator_model import GeneratorModel
from steeplechase.tasks.objectives.masked_tokens import MaskedTensors, MaskedTokenModel, masked_token_loss
from steeplechase.tasks.objectives.pretraining_model import EvaluationSource


class Model(GeneratorModel, MaskedTokenModel[MaskedBatch]):
    """An encoder with a vocabulary head, and a generator that shares its embeddings."""

    def __init__(self, candidate: Candidate, generator: Architecture | None) -> None:
        super().__init__(candidate)
        self.add_generator(candidate, generator)

    def own_loss(self, corrupted: CorruptedInputs, batch: MaskedTensors) -> Float[Tensor, ""]:
        """Return the mean cross-entropy in nats of the original tokens at the masked positions."""
        return masked_token_loss(self.encoder(corrupted.inputs), batch, self.head, self.token_table)[0]

    @classmethod
    def evaluation_set(cls, source: EvaluationSource) -> EvaluationSet:
        """Return sequences that the reference generator corrupted, with the original tokens as targets."""
        assert isinstance(source.generator, MaskedTokenModel)
        masked = source.generator.evaluation_set(source)
        corrupted = replaced_token_detection.Model.evaluation_set(source)
        return EvaluationSet(corrupted.inputs, masked.positions, masked.targets)
