"""Encoder–decoders of transformers and of torch with random weights, and ours with the same weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.models.build_encoder import build_encoder
from steeplechase.models.encoder_decoder import EncoderDecoder
from steeplechase.models.huggingface.families.encoder_decoder import OUTPUT_BIAS, Bart, EncoderDecoderFamily, Marian
from steeplechase.models.huggingface.weight_names import from_transformers
from tests.factories.encoder_decoders import architecture

transformers = pytest.importorskip("transformers", reason="the reference models are in the development extra")

HF_SIZES: dict[str, Any] = {
    "vocab_size": 40,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 24,
    "dropout": 0.0,
    "pad_token_id": 0,
    "eos_token_id": 3,
    "bos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
    "attn_implementation": "eager",
}
Logits = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From source, its padding mask and target to logits [batch target vocab]."""


@dataclass(frozen=True)
class Reference:
    """A model of theirs and ours with the same weights."""

    ours: EncoderDecoder
    theirs: nn.Module
    their_logits: Logits

    def our_logits(self, source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        """Return our logits [batch target vocab]."""
        return self.ours.target_logits(source, mask, target)


def stirred(model: nn.Module, seed: int = 1) -> nn.Module:
    """Return the model in evaluation with random weights far from the initial ones; gains are 0.5 to 1.5."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:  # a table of sinusoids
                continue
            values = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
            gain = "norm" in name and name.endswith("weight")
            parameter.copy_(values + 0.5 if gain else 0.8 * values - 0.4)
    return model.eval()


def bart(dtype: torch.dtype) -> Reference:
    """Return BartForConditionalGeneration."""
    theirs = transformers.BartForConditionalGeneration(transformers.BartConfig(**HF_SIZES))
    changes = {"positions": 26, "normalisation": {"kind": "post_norm", "epsilon": 1e-5}}
    return _of_transformers(Bart(), theirs, architecture("bart", **changes), dtype)


def marian(dtype: torch.dtype) -> Reference:
    """Return MarianMTModel; its float32 table of sinusoids is replaced by ours, so that float64 can be compared."""
    config = transformers.MarianConfig(**HF_SIZES, activation_function="relu", scale_embedding=True)
    theirs = transformers.MarianMTModel(config)
    norm = {"kind": "post_norm", "embedding": False, "epsilon": 1e-5}
    declared = architecture("transformer", normalisation=norm, output_bias=True)
    found = _of_transformers(Marian(), theirs, declared, dtype)
    with torch.no_grad():
        sinusoids = found.ours.embeddings.positions(24)
        for stack in (theirs.model.encoder, theirs.model.decoder):
            halves = torch.cat([sinusoids[:, ::2], sinusoids[:, 1::2]], 1)
            assert (stack.embed_positions.weight - halves).abs().max() < 1e-5
            stack.embed_positions.weight.copy_(halves)
        assert found.ours.output_bias is not None
        theirs.final_logits_bias.copy_(found.ours.output_bias.bias[None])
    return found


def _of_transformers(
    family: EncoderDecoderFamily, theirs: Any, declared: EncoderDecoderArchitecture, dtype: torch.dtype
) -> Reference:
    stirred(theirs).to(dtype)
    ours = build_encoder(declared, 0.0).eval().to(dtype)
    assert isinstance(ours, EncoderDecoder)
    assert not list(family.obstacles(declared, 0))
    bias = torch.linspace(-0.5, 0.5, declared.vocabulary_size, dtype=dtype)[None]
    named = {**dict(theirs.model.named_parameters()), OUTPUT_BIAS: bias}
    weights = from_transformers(named, family.encoder_pairs(declared))
    parameters = dict(ours.named_parameters())
    assert parameters.keys() == weights.keys()
    with torch.no_grad():
        for name, value in weights.items():
            parameters[name].copy_(value)

    def logits(source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        found: Tensor = theirs(input_ids=source, attention_mask=mask.long(), decoder_input_ids=target).logits
        return found

    return Reference(ours, theirs, logits)


def torch_transformer(dtype: torch.dtype, *, pre_norm: bool) -> Reference:
    """Return torch.nn.Transformer between our embeddings and our output layer, with the weights of our blocks.

    `nn.Transformer` has a final norm in both settings; of post-norm, which has none here, it is left out.
    """
    kind = {"kind": "pre_norm"} if pre_norm else {"kind": "post_norm", "embedding": False}
    declared = architecture("transformer", normalisation={**kind, "epsilon": 1e-5, "embedding": False})
    ours = build_encoder(declared, 0.0)
    assert isinstance(ours, EncoderDecoder)
    stirred(ours).to(dtype)
    theirs = nn.Transformer(32, 4, 2, 2, 48, dropout=0.0, batch_first=True, norm_first=pre_norm).eval().to(dtype)
    if not pre_norm:
        theirs.encoder.norm = theirs.decoder.norm = None
    with torch.no_grad():
        for stack, layers in ((ours, theirs.encoder), (ours.decoder, theirs.decoder)):
            for block, layer in zip(stack.blocks, layers.layers, strict=True):
                _copy_block(block, layer)
            if pre_norm:
                layers.norm.load_state_dict(stack.final_norm.state_dict())

    def logits(source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], dtype=dtype)
        states = theirs(
            ours.embeddings(source),
            ours.decoder.embeddings(target),
            tgt_mask=causal,
            src_key_padding_mask=~mask,
            memory_key_padding_mask=~mask,
        )
        return ours.logits(states)

    return Reference(ours, theirs, logits)


def _copy_block(block: Any, layer: Any) -> None:
    attentions = [(block.attention, layer.self_attn, "attention_norm")]
    if "cross_attention" in block.kinds:
        attentions.append((block.cross_attention, layer.multihead_attn, "cross_attention_norm"))
    for number, (ours, theirs, norm) in enumerate(attentions, start=1):
        for part in ("weight", "bias"):
            joined = torch.cat([getattr(getattr(ours, name), part) for name in ("query", "key", "value")])
            getattr(theirs, f"in_proj_{part}").copy_(joined)
        theirs.out_proj.load_state_dict(ours.output.state_dict())
        getattr(layer, f"norm{number}").load_state_dict(getattr(block, norm).state_dict())
    layer.linear1.load_state_dict(block.feed_forward.up.state_dict())
    layer.linear2.load_state_dict(block.feed_forward.down.state_dict())
    getattr(layer, f"norm{len(attentions) + 1}").load_state_dict(block.feed_forward_norm.state_dict())


REFERENCES: dict[str, Callable[[torch.dtype], Reference]] = {
    "bart": bart,
    "marian": marian,
    "torch_post_norm": lambda dtype: torch_transformer(dtype, pre_norm=False),
    "torch_pre_norm": lambda dtype: torch_transformer(dtype, pre_norm=True),
}
"""By name."""
