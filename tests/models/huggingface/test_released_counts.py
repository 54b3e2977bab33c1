"""Parameter counts of released sizes in transformers, built without weights, equal the published values."""

import pytest
import torch

from search_space.architecture import Architecture
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.released.models import PRESETS
from search_space.released.papers import published

transformers = pytest.importorskip("transformers", reason="the reference models are in the development extra")


def bart(architecture: EncoderDecoderArchitecture) -> transformers.BartConfig:
    stacks = {"encoder_layers": architecture.depth, "decoder_layers": architecture.decoder_depth}
    names = (f"{stack}_{size}" for stack in ("encoder", "decoder") for size in ("attention_heads", "ffn_dim"))
    sizes = {
        name: architecture.heads if name.endswith("heads") else architecture.feed_forward_width for name in names
    }
    return transformers.BartConfig(
        vocab_size=architecture.vocabulary_size, d_model=architecture.width, **stacks, **sizes
    )


def theirs(architecture: Architecture, family: str) -> torch.nn.Module:
    """Return transformers' model of the same sizes on the meta device."""
    sizes = {
        "vocab_size": architecture.vocabulary_size,
        "hidden_size": architecture.width,
        "num_hidden_layers": architecture.depth,
        "num_attention_heads": architecture.heads,
        "intermediate_size": architecture.feed_forward_width,
    }
    embedding = {"embedding_size": architecture.embedding_width}
    tables = {"max_position_embeddings": architecture.positions, "type_vocab_size": architecture.segments}
    with torch.device("meta"):
        if family in ("bert", "structbert", "spanbert", "wklm", "bertram"):
            return transformers.BertModel(transformers.BertConfig(**sizes))
        if family == "roberta":
            return transformers.RobertaModel(transformers.RobertaConfig(**sizes, **tables))
        if family == "albert":
            return transformers.AlbertModel(transformers.AlbertConfig(**sizes, **embedding))
        if isinstance(architecture, EncoderDecoderArchitecture):
            return transformers.BartModel(bart(architecture))
        if family == "modernbert":
            return transformers.ModernBertModel(transformers.ModernBertConfig(**sizes))
        if family == "gpt":
            return transformers.OpenAIGPTModel(transformers.OpenAIGPTConfig())
        if family == "xlnet":
            widths = {"d_model": architecture.width, "d_inner": architecture.feed_forward_width}
            stack = {"n_layer": architecture.depth, "n_head": architecture.heads}
            return transformers.XLNetModel(
                transformers.XLNetConfig(vocab_size=architecture.vocabulary_size, **stack, **widths)
            )
        if family == "electra":
            return transformers.ElectraModel(transformers.ElectraConfig(**sizes, **embedding))
        groups = {"num_groups": architecture.feed_forward_groups, "conv_kernel_size": 9, "head_ratio": 2}
        return transformers.ConvBertModel(transformers.ConvBertConfig(**sizes, **embedding, **groups))


# bert-small's body is ELECTRA-Small's; transformers has none of the others
NOT_THERE = (
    *("bert-small", "evolved", "schubert", "sensebert", "neobert", "transformer", "mass", "unilm"),
    *("preln", "sandwich"),
)


@pytest.mark.parametrize("name", [name for name in published().models if not name.startswith(NOT_THERE)])
def test_a_parameter_count_is_that_of_transformers(name: str) -> None:
    model = theirs(PRESETS[name].candidate.architecture, name.partition("-")[0])
    assert sum(value.numel() for value in model.parameters()) == published().models[name].costs.published_parameters
