"""Encoders of transformers without heads, and ours with the same random weights, by the tests' own map of names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from steeplechase.models.encoder import Encoder
from tests.factories.huggingface_reference import ENCODER_NAMES

transformers: Any = pytest.importorskip("transformers", reason="the reference models are in the development extra")

VOCABULARY, POSITIONS = 50, 24
OURS: dict[str, Any] = {
    "depth": 3,
    "width": 32,
    "embedding_width": 32,
    "heads": 4,
    "feed_forward_width": 64,
    "vocabulary_size": VOCABULARY,
    "positions": POSITIONS,
}
THEIRS: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2,
    "attn_implementation": "eager",
}
EMBEDDINGS, BERT_NAMES = ENCODER_NAMES[:4], ENCODER_NAMES
PRE_NORM_NAMES = (
    (r"^LayerNorm", "final_norm"),
    (r"attention\.LayerNorm", "attention_norm"),
    (r"intermediate\.LayerNorm", "feed_forward_norm"),
    *BERT_NAMES,
)
ALBERT_NAMES = (
    *EMBEDDINGS,
    (r"^encoder\.embedding_hidden_mapping_in", "projection"),
    (r"^encoder\.albert_layer_groups\.0\.albert_layers\.0\.", "blocks.0."),
    (r"attention\.dense", "attention.output"),
    (r"attention\.LayerNorm", "attention_norm"),
    (r"ffn_output", "feed_forward.down"),
    (r"ffn", "feed_forward.up"),
    (r"full_layer_layer_norm", "feed_forward_norm"),
)
GPT_NAMES = (
    (r"^tokens_embed", "embeddings.tokens"),
    (r"^positions_embed", "embeddings.positions"),
    (r"^h\.(\d+)\.", r"blocks.\1."),
    (r"attn\.c_proj", "attention.output"),
    (r"ln_1", "attention_norm"),
    (r"ln_2", "feed_forward_norm"),
    (r"mlp\.c_fc", "feed_forward.up"),
    (r"mlp\.c_proj", "feed_forward.down"),
)


MODERNBERT_NAMES = (
    (r"^embeddings\.tok_embeddings", "embeddings.tokens"),
    (r"^layers\.(\d+)\.", r"blocks.\1."),
    (r"\.attn_norm\.", ".attention_norm."),
    (r"\.mlp_norm\.", ".feed_forward_norm."),
    (r"\.attn\.Wo\.", ".attention.output."),
    (r"\.attn\.", ".attention."),
    (r"\.mlp\.Wi\.", ".feed_forward.up."),
    (r"\.mlp\.Wo\.", ".feed_forward.down."),
)
XLNET_NAMES = (
    (r"^word_embedding", "embeddings.tokens"),
    (r"^mask_emb", "query_start.weight"),
    (r"^layer\.(\d+)\.", r"blocks.\1."),
    (r"rel_attn\.layer_norm", "attention_norm"),
    (r"ff\.layer_norm", "feed_forward_norm"),
    (r"ff\.layer_1", "feed_forward.up"),
    (r"ff\.layer_2", "feed_forward.down"),
    (r"rel_attn\.q$", "attention.query.weight"),
    (r"rel_attn\.k$", "attention.key.weight"),
    (r"rel_attn\.v$", "attention.value.weight"),
    (r"rel_attn\.r$", "attention.relative.map.weight"),
    (r"rel_attn\.o$", "attention.output.weight"),
    (r"rel_attn\.r_w_bias", "attention.relative.content_bias"),
    (r"rel_attn\.r_r_bias", "attention.relative.position_bias"),
    (r"rel_attn\.r_s_bias", "attention.relative.segments.bias"),
    (r"rel_attn\.seg_embed", "attention.relative.segments.vectors"),
)


@dataclass(frozen=True)
class Body:
    """An encoder of transformers and the architecture that should compute the same."""

    theirs: Callable[[], nn.Module]
    architecture: Architecture
    names: tuple[tuple[str, str], ...]
    has_segments: bool = True
    widest: torch.dtype = torch.float64
    """The type in which transformers computes every part."""

    def our_weights(self, theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return their weights under our names and in our layout, without a pooler."""
        found: dict[str, Tensor] = {}
        for name, value in theirs.items():
            if name.startswith("pooler"):
                continue
            if ".Wqkv." in name:
                prefix, _, part = self._renamed(name).partition("attention.Wqkv.")
                for ours, third in zip(("query", "key", "value"), value.chunk(3, 0), strict=True):
                    found[f"{prefix}attention.{ours}.{part}"] = third
            elif ".c_attn." in name:  # query, key and value in one map, transposed like every map of GPT
                prefix, _, part = name.partition("attn.c_attn.")
                for ours, third in zip(("query", "key", "value"), value.chunk(3, -1), strict=True):
                    found[f"{self._renamed(prefix)}attention.{ours}.{part}"] = third.T if part == "weight" else third
            else:
                found[self._renamed(name)] = _our_layout(name, value)
        return found

    def _renamed(self, name: str) -> str:
        for pattern, ours in self.names:
            name = re.sub(pattern, ours, name)
        return name

    def pair(self, dtype: torch.dtype, seed: int = 1) -> tuple[nn.Module, Encoder]:
        """Return both with the same random weights: no bias is zero, and gains are drawn from U(0.5, 1.5)."""
        theirs, ours = self.theirs(), Encoder(self.architecture, 0.1)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in theirs.named_parameters():
                if re.search(r"(LayerNorm|_?norm|ln_\d)\.weight$", name):
                    parameter.uniform_(0.5, 1.5, generator=generator)
                else:
                    parameter.normal_(0.0, 0.15, generator=generator)
            ours.load_state_dict(self.our_weights(dict(theirs.named_parameters())), strict=True)
        return theirs.to(dtype).eval(), ours.to(dtype).eval()


def _our_layout(name: str, value: Tensor) -> Tensor:
    if name.endswith("depthwise.weight"):
        return value[:, 0].T
    if name.endswith("pointwise.weight"):
        return value[:, :, 0]
    if name.endswith("key_conv_attn_layer.bias"):
        return value.flatten()
    if re.search(r"rel_attn\.[qkvr]$", name):  # [width heads channels]
        return value.flatten(1).T
    if name.endswith("rel_attn.o"):
        return value.flatten(1)
    if re.search(r"r_[wrs]_bias$", name):
        return value[:, None]
    if name == "mask_emb":
        return value[0, 0]
    return value.T if re.search(r"\.c_(fc|proj)\.weight$", name) else value


def _of(model: str, config: str, **changes: Any) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        library = transformers
        body: nn.Module = getattr(library, model)(getattr(library, config)(**{**THEIRS, **changes}))
        return body

    return build


def _ours(**changes: Any) -> Architecture:
    return Architecture.model_validate({**OURS, **changes})


def xlnet(**changes: Any) -> nn.Module:
    """Return XLNet's encoder; transformers has its sinusoids in float32 whatever the model's type is."""
    sizes = {"d_model": 32, "n_layer": 3, "n_head": 4, "d_inner": 64, "vocab_size": VOCABULARY}
    body: Any = transformers.XLNetModel(transformers.XLNetConfig(**{**sizes, "mem_len": None, **changes}))

    def in_its_precision(qlen: int, klen: int, bsz: int, device: torch.device | None = None) -> Tensor:
        """Return their encoding [distances batch width], reversed in the second half of a batch with `bi_data`."""
        distances = torch.arange(klen, -qlen, -1.0, dtype=torch.float64)
        rates = 10_000.0 ** (-torch.arange(0, body.d_model, 2.0, dtype=torch.float64) / body.d_model)
        rows = bsz // (2 if body.bi_data else 1)
        both = [body.positional_embedding(sign * distances, rates, rows) for sign in (1, -1)[: 1 + body.bi_data]]
        return torch.cat(both, 1).to(body.dtype)

    body.relative_positional_encoding = in_its_precision
    return cast(nn.Module, body)


def _gpt() -> nn.Module:
    sizes = {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": POSITIONS, "vocab_size": VOCABULARY}
    body: nn.Module = transformers.OpenAIGPTModel(transformers.OpenAIGPTConfig(**sizes))
    return body


ROBERTA = {"type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}
OUR_ROBERTA = {"segments": 1, "position": {"kind": "learned", "offset": 2}}


def _modernbert(**changes: Any) -> Body:
    """Return four layers, two of them with a window of 6 tokens, fewer than a sequence has."""
    sizes = {name: value for name, value in THEIRS.items() if name != "type_vocab_size"} | {"num_hidden_layers": 4}
    theirs = {**sizes, "local_attention": 6, "pad_token_id": 0, **changes}
    norm = "layer_norm" if changes.get("norm_bias") else "layer_norm_without_bias"
    ours = {name: value for name, value in OURS.items() if name != "depth"} | {
        "layers": "s f s(local=6) f s(local=6) f s f",
        "segments": 0,
        "position": {"kind": "rotary", "base": 160_000.0, "local_base": 10_000.0},
        "normalisation": {"kind": "pre_norm", "first": False, "norm": norm, "epsilon": 1e-5},
        "feed_forward_activation": "geglu",
        "attention_biases": changes.get("attention_bias", False),
        "feed_forward_biases": changes.get("mlp_bias", False),
    }
    return Body(
        lambda: transformers.ModernBertModel(transformers.ModernBertConfig(**theirs)),
        Architecture.model_validate(ours),
        MODERNBERT_NAMES,
        has_segments=False,
        widest=torch.float32,  # of their rotary positions and their mask
    )


BODIES: dict[str, Body] = {
    "ModernBertModel": _modernbert(),
    "ModernBertModel with biases": _modernbert(norm_bias=True, attention_bias=True, mlp_bias=True),
    "RobertaModel": Body(
        _of("RobertaModel", "RobertaConfig", **ROBERTA),
        _ours(**OUR_ROBERTA, normalisation={"kind": "post_norm", "epsilon": 1e-5}),
        BERT_NAMES,
        has_segments=False,
    ),
    "RobertaPreLayerNormModel": Body(
        _of("RobertaPreLayerNormModel", "RobertaPreLayerNormConfig", **ROBERTA),
        _ours(**OUR_ROBERTA, normalisation={"kind": "pre_norm", "epsilon": 1e-5}),
        PRE_NORM_NAMES,
        has_segments=False,
    ),
    "AlbertModel": Body(
        _of("AlbertModel", "AlbertConfig", embedding_size=16),
        _ours(embedding_width=16, sharing="all", feed_forward_activation="gelu_tanh"),
        ALBERT_NAMES,
    ),
    "OpenAIGPTModel": Body(
        _gpt,
        _ours(
            segments=0,
            feed_forward_width=128,  # OpenAIGPTModel has four times the width
            visibility="left_to_right",
            feed_forward_activation="gelu_tanh",
            normalisation={"kind": "post_norm", "embedding": False, "epsilon": 1e-5},
        ),
        GPT_NAMES,
        has_segments=False,
    ),
    "XLNetModel": Body(
        xlnet,
        _ours(
            segments=0,
            visibility="permutation",
            attention_biases=False,
            position={"kind": "relative", "segment_encodings": True},
            normalisation={"kind": "post_norm", "embedding": False},
        ),
        XLNET_NAMES,
    ),
}
