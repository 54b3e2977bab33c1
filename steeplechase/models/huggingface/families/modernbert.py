"""ModernBERT: rotary positions, windows in some layers, gated networks, norms before sublayers.

Warner et al. 2024, arXiv 2412.13663; transformers 5.23, models/modernbert. Heads are left out: their map has no bias.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from search_space.activation import GATED
from search_space.architecture import Architecture
from search_space.layer_lists import BLOCKS_AT_MOST
from search_space.layer_program import Sublayer, SublayerKind
from search_space.position import RotaryPositions
from search_space.stack import self_attentions
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import NO_EQUIVALENT, SIZES, Family, WeightPair, stack

FULL, SLIDING = "full_attention", "sliding_attention"
LAYERS, WINDOW, ROTARY = "layer_types", "local_attention", "rope_parameters"
FORMER = {FULL: "global_rope_theta", SLIDING: "local_rope_theta"}
"""Keys of the bases in files from before transformers 5."""
BASES = {FULL: 160_000.0, SLIDING: 10_000.0}
NORMS = {True: "layer_norm", False: "layer_norm_without_bias"}


class ModernBert(Family):
    """Blocks of self-attention and a gated network; the input of the first is normalised by the embeddings' norm."""

    model_type = "modernbert"
    title = "ModernBERT"
    bare_class = "ModernBertModel"
    prefix = "model"
    has_segments = False
    projects_embeddings = False
    activation, epsilon = "hidden_activation", "norm_eps"
    activations: ClassVar = {"gelu": "geglu", "silu": "swiglu"}
    """The function of the first half, by transformers' name, and the gated network of this project."""
    norm: ClassVar = {"kind": "pre_norm", "first": False}
    own_fields: ClassVar = {"segments": 0}
    fixed: ClassVar = {"rope_scaling": None}
    sizes: ClassVar = {ours: key for ours, key in SIZES.items() if ours not in ("embedding_width", "segments")}
    dropouts = ("embedding_dropout", "attention_dropout")
    defaults: ClassVar = {
        "num_hidden_layers": 22, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 1152,
        "vocab_size": 50368, "max_position_embeddings": 8192, "hidden_activation": "gelu", "norm_eps": 1e-5,
        "norm_bias": False, "attention_bias": False, "mlp_bias": False, WINDOW: 128,
    }  # fmt: skip
    converted = frozenset({"position", "layers", "local", "attention_biases", "feed_forward_biases"})

    def _own_obstacles(self, architecture: Architecture, pad: int | None) -> Iterator[str]:
        own, norm = self.bare_class, architecture.normalisation
        if norm.kind != "pre_norm" or norm.has_first_norm or not (norm.embedding and norm.has_final_norm):
            why = f"{own} is pre_norm with first false, a norm of the embeddings and a final one"
            yield f"normalisation {norm.kind} {NO_EQUIVALENT}: {why}"
        if norm.norm not in NORMS.values():
            yield f"normalisation.norm {norm.norm} {NO_EQUIVALENT}: {own} has layer norms"
        if architecture.feed_forward_activation not in GATED:
            name = architecture.feed_forward_activation
            yield f"feed_forward_activation {name} {NO_EQUIVALENT}: the feed-forward network of {own} is gated"
        position = architecture.position
        if not isinstance(position, RotaryPositions) or position.share != 1:
            yield f"position {position.kind} {NO_EQUIVALENT}: {own} has rotary positions of whole heads"
        yield from _program_obstacles(architecture, own)

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the keys of windows, bases, biases, norms and the activation function."""
        position, windows = architecture.position, _windows(architecture)
        assert isinstance(position, RotaryPositions)
        local = next((each for each in windows if each is not None), None)
        bases = {FULL: position.base, SLIDING: position.base_of(128)}
        return super().keys(architecture) | {
            LAYERS: [FULL if each is None else SLIDING for each in windows],
            WINDOW: local or 128,
            ROTARY: {kind: {"rope_type": "default", "rope_theta": base} for kind, base in bases.items()},
            "norm_bias": architecture.norm == NORMS[True],
            "attention_bias": architecture.attention_biases,
            "mlp_bias": architecture.feed_forward_biases,
            "cls_token_id": None,
            "sep_token_id": None,
        }

    def completed(self, document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a config.json with the defaults of omitted keys: every third layer reads all tokens."""
        configured = {**self.fixed, **super().completed(document)}
        depth, every = configured["num_hidden_layers"], configured.get("global_attn_every_n_layers", 3)
        if configured.get(LAYERS) is None and isinstance(depth, int) and isinstance(every, int) and every > 0:
            named = range(min(depth, BLOCKS_AT_MOST + 1))  # more are refused
            configured[LAYERS] = [SLIDING if number % every else FULL for number in named]
        given = configured.get(ROTARY)
        given = given if isinstance(given, dict) else {}
        configured[ROTARY] = {
            kind: {"rope_type": "default", "rope_theta": configured.get(former, BASES[kind]), **_mapping(given, kind)}
            for kind, former in FORMER.items()
        }
        return configured

    def wrong_values(self, configured: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yield the keys with values that no architecture has."""
        yield from super().wrong_values(configured)
        window, kinds = configured[WINDOW], configured.get(LAYERS)
        if isinstance(window, bool) or not isinstance(window, int) or window < 2 or window % 2:
            yield f"{WINDOW}: {window!r:.80} is not an even number from 2"
        depth = configured["num_hidden_layers"]
        if isinstance(depth, int) and depth > BLOCKS_AT_MOST:
            yield f"num_hidden_layers: {depth} blocks are too many; allowed: 1 to {BLOCKS_AT_MOST}"
        elif not isinstance(kinds, list) or len(kinds) != depth or any(each not in [*BASES] for each in kinds):
            yield f"{LAYERS}: {kinds!r:.80} is not {depth!r:.20} times {FULL} or {SLIDING}"
        for key in ("norm_bias", "attention_bias", "mlp_bias"):
            if not isinstance(configured[key], bool):
                yield f"{key}: {configured[key]!r:.80} is not true or false"
        for kind in BASES:
            of_kind: Any = _mapping(configured[ROTARY], kind)
            base = of_kind["rope_theta"]
            if of_kind["rope_type"] != "default":
                yield f"{ROTARY}.{kind}.rope_type: {of_kind['rope_type']!r:.80} is not supported; allowed: 'default'"
            if isinstance(base, bool) or not isinstance(base, int | float) or not 1 < base <= 1e12:
                yield f"{ROTARY}.{kind}.rope_theta: {base!r:.80} is not a number between 1 and 1e12"

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        kinds: Any = configured[LAYERS]
        bases: Any = {kind: _mapping(configured[ROTARY], kind)["rope_theta"] for kind in BASES}
        base, local_base = (float(bases[kind]) for kind in (FULL, SLIDING))
        own = local_base if SLIDING in kinds and local_base != base else None
        window = f"s(local={configured[WINDOW]})"
        return super().fields(configured) | {
            "layers": " ".join(f"{'s' if kind == FULL else window} f" for kind in kinds),
            "position": {"kind": "rotary", "base": base, "local_base": own},
            "normalisation": {
                **self.norm,
                "norm": NORMS[bool(configured["norm_bias"])],
                "epsilon": configured[self.epsilon],
            },
            "attention_biases": configured["attention_bias"],
            "feed_forward_biases": configured["mlp_bias"],
        }

    def encoder_pairs(self, architecture: Architecture) -> tuple[WeightPair, ...]:
        """Return every parameter of the encoder, provided that `obstacles` yields none."""
        of_norms = ("weight", "bias") if architecture.norm == NORMS[True] else ("weight",)
        of_attention = ("weight", "bias") if architecture.attention_biases else ("weight",)
        of_networks = ("weight", "bias") if architecture.feed_forward_biases else ("weight",)
        pairs = [WeightPair("embeddings.tokens.weight", "embeddings.tok_embeddings.weight")]
        pairs += [WeightPair(f"embeddings.norm.{part}", f"embeddings.norm.{part}") for part in of_norms]
        pairs += [WeightPair(f"final_norm.{part}", f"final_norm.{part}") for part in of_norms]
        modules = (
            ("attention_norm", "attn_norm", of_norms),
            ("feed_forward_norm", "mlp_norm", of_norms),
            ("attention.output", "attn.Wo", of_attention),
            ("feed_forward.up", "mlp.Wi", of_networks),
            ("feed_forward.down", "mlp.Wo", of_networks),
        )
        block = [WeightPair(f"{name}.{part}", f"{other}.{part}") for name, other, parts in modules for part in parts]
        block += [
            WeightPair(f"attention.{name}.{part}", f"attn.Wqkv.{part}", third=third, axis=0)
            for part in of_attention
            for third, name in enumerate(("query", "key", "value"))
        ]
        blocks = stack(architecture.depth, block, "layers")
        return (*pairs, *(pair for pair in blocks if not pair.name.startswith("blocks.0.attention_norm")))


def _program_obstacles(architecture: Architecture, own: str) -> Iterator[str]:
    """Yield what the program has beside blocks of equal sizes with one window or none."""
    items = architecture.program.items
    kinds = (SublayerKind.SELF_ATTENTION, SublayerKind.FEED_FORWARD)
    plain = len(items) % 2 == 0 and all(
        isinstance(item, Sublayer)
        and item.kind == kinds[place % 2]
        and {name for name, _ in item.settings} <= {"local"}
        for place, item in enumerate(items)
    )
    if not plain:
        yield f"layers {str(architecture.program)!r:.80} {NO_EQUIVALENT}: {own} has equal blocks s f"
    elif len({*_windows(architecture)} - {None}) > 1:
        yield f"windows of different sizes {NO_EQUIVALENT}: {own} has one"


def _windows(architecture: Architecture) -> list[int | None]:
    """Return the window of every block."""
    return [each.local for each in self_attentions(architecture.blocks)]


def _mapping(parameters: object, kind: str) -> dict[str, JsonValue]:
    of_kind = parameters.get(kind) if isinstance(parameters, dict) else None
    return of_kind if isinstance(of_kind, dict) else {}
