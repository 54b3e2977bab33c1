"""What both placements of layer norms have in common."""

from foundation.schema import PositiveNumber, Schema


class Norms(Schema):
    """Layer norms of the embeddings and of every sublayer."""

    embedding: bool = True
    """Whether the sum of the embeddings is normalised, as in BERT; the Transformer and GPT have no such norm."""
    epsilon: PositiveNumber = 1e-12
    """Added to the variance. Default: BERT's release; RoBERTa has 1e-5."""
