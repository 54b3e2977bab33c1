"""BERT of transformers as a factory: any architecture of that library is one in the same way."""

from torch import Tensor, nn
from transformers import BertConfig, BertModel


class Bert(nn.Module):
    """From tokens to the hidden states of the last layer."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)

    def get_input_embeddings(self) -> nn.Embedding:
        """Return the token embeddings, to which the output layer of masked language modelling is tied."""
        return self.bert.get_input_embeddings()

    def forward(self, tokens: Tensor, padding_mask: Tensor | None) -> Tensor:
        """Return one vector per token [batch seq width]; `padding_mask` is True for tokens."""
        return self.bert(tokens, attention_mask=padding_mask).last_hidden_state


def build(
    vocabulary_size: int,
    positions: int,
    width: int,
    depth: int,
    heads: int,
    feed_forward_width: int,
    dropout: float = 0.1,
) -> Bert:
    """Return the module with the library's own initial weights; the arguments are those of the experiment."""
    return Bert(
        BertConfig(
            vocab_size=vocabulary_size,
            max_position_embeddings=positions,
            hidden_size=width,
            num_hidden_layers=depth,
            num_attention_heads=heads,
            intermediate_size=feed_forward_width,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
    )
