"""A fair ELECTRA step from transformers' modules: ConvBERT encoders, a dense vocabulary head, sparse sampling.

As in efficient public code (electra_pytorch's path over transformers' models): logits at every position, of which
only the masked ones are selected and sampled. Embeddings and output table are tied; the losses are 1 x MLM + 50 x RTD
(arXiv 2003.10555, section 3.1).
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from benchmarks.references import conv_bert
from search_space.architecture import Architecture
from steeplechase.tasks.masking import MaskedBatch

DISCRIMINATOR_WEIGHT = 50.0


class Electra(nn.Module):
    """Generator, discriminator and their heads, every module from transformers."""

    def __init__(self, architecture: Architecture, generator: Architecture) -> None:
        super().__init__()
        from transformers.models.convbert.modeling_convbert import ConvBertGeneratorPredictions
        from transformers.models.electra.modeling_electra import ElectraDiscriminatorPredictions

        self.encoder, self.generator = conv_bert.build(architecture), conv_bert.build(generator)
        self.generator.embeddings = self.encoder.embeddings
        self.predictions: nn.Module = ConvBertGeneratorPredictions(conv_bert.config_of(generator))
        self.words = nn.Linear(architecture.embedding_width, architecture.vocabulary_size)
        self.words.weight = self.table
        self.discriminator_head: nn.Module = ElectraDiscriminatorPredictions(conv_bert.config_of(architecture))

    @property
    def table(self) -> nn.Parameter:
        """The token embeddings, shared with the output layer."""
        weight: nn.Parameter = self.encoder.get_input_embeddings().weight  # type: ignore[operator]
        return weight

    def loss(self, batch: MaskedBatch, samples: Tensor | None = None) -> Tensor:
        """Return the weighted sum of both losses; `samples` [batch predictions], if given, replace sampling."""
        inputs, positions = torch.from_numpy(batch.inputs), torch.from_numpy(batch.masked_positions)
        targets = torch.from_numpy(batch.targets)
        all_logits = self.words(self.predictions(self.generator(input_ids=inputs)[0]))
        rows = torch.arange(len(inputs))[:, None]
        logits = all_logits[rows, positions].flatten(0, 1)
        generator_loss = cross_entropy(logits, targets.flatten())
        sampled = sample(logits.detach()).view_as(targets) if samples is None else samples
        corrupted = inputs.scatter(1, positions, sampled)
        replaced = torch.zeros_like(inputs).scatter(1, positions, (sampled != targets).long())
        detections = self.discriminator_head(self.encoder(input_ids=corrupted)[0])
        discriminator_loss = binary_cross_entropy_with_logits(detections, replaced.float())
        return generator_loss + DISCRIMINATOR_WEIGHT * discriminator_loss


def sample(logits: Tensor) -> Tensor:
    """Return one token per row by the Gumbel-max trick; torch.multinomial takes a tenth longer."""
    noise = torch.empty_like(logits).exponential_().log_()
    return noise.neg_().add_(logits).argmax(-1)
