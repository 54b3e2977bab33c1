"""transformers' ConvBERT as a peer: the model, its convolution operator alone, and its weights under our names.

Read in transformers 5.23, models/convbert/modeling_convbert.py.
"""

from typing import Any

import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from steeplechase.models.encoder import Encoder
from steeplechase.models.huggingface.weight_names import encoder_pairs, from_transformers

HEAD_RATIO = 2  # the only ratio at which their module has the paper's shapes


def config_of(architecture: Architecture) -> Any:
    """Return their configuration of an architecture, without dropout."""
    from transformers import ConvBertConfig

    assert isinstance(architecture.convolution, SpanDynamic)
    assert architecture.bottleneck_ratio == HEAD_RATIO
    return ConvBertConfig(
        vocab_size=architecture.vocabulary_size,
        hidden_size=architecture.width,
        embedding_size=architecture.embedding_width,
        num_hidden_layers=architecture.depth,
        num_attention_heads=architecture.heads,
        intermediate_size=architecture.feed_forward_width,
        max_position_embeddings=architecture.positions,
        type_vocab_size=architecture.segments,
        conv_kernel_size=architecture.convolution.kernel_size,
        head_ratio=HEAD_RATIO,
        num_groups=architecture.feed_forward_groups,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )


def build(architecture: Architecture) -> nn.Module:
    """Return their model, freshly initialised."""
    from transformers import ConvBertModel

    model: nn.Module = ConvBertModel(config_of(architecture))
    return model.train()


def copy_weights(theirs: nn.Module, ours: Encoder) -> None:
    """Copy their weights into our encoder; torch raises if one of ours has no counterpart."""
    named = {name: value.detach() for name, value in theirs.named_parameters(remove_duplicate=False)}
    ours.load_state_dict(from_transformers(named, encoder_pairs(ours.architecture)), strict=True)


def span_dynamic_operator(values: Tensor, kernel_logits: Tensor, kernel_size: int) -> Tensor:
    """Return the operator inside ConvBertSelfAttention.forward, after `conv_kernel_layer` and `conv_out_layer`.

    It is not a separate function there, so its tensor operations are repeated one by one.
    Shapes: values [batch seq width], kernel logits [batch seq heads*kernel], result [batch seq width].
    """
    batch, length, width = values.shape
    head_width = width * kernel_size // kernel_logits.shape[-1]
    weights = torch.softmax(torch.reshape(kernel_logits, [-1, kernel_size, 1]), dim=1)
    columns = values.transpose(1, 2).contiguous().unsqueeze(-1)
    padding = ((kernel_size - 1) // 2, 0)
    columns = nn.functional.unfold(columns, kernel_size=(kernel_size, 1), dilation=1, padding=padding, stride=1)
    columns = columns.transpose(1, 2).reshape(batch, -1, width, kernel_size)
    columns = torch.reshape(columns, [-1, head_width, kernel_size])
    return torch.reshape(torch.matmul(columns, weights), [batch, length, width])
