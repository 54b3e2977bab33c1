"""Random layer programs and architectures of every axis, for property tests."""

from typing import Any, get_args

from hypothesis import strategies as st

from search_space.activation import Activation, FeedForwardActivation
from search_space.architecture import Architecture
from search_space.convolution import Convolution
from search_space.convolution.kernel import WithKernel, WithValue
from search_space.norm import Norm
from search_space.visibility import WINDOWS
from tests.factories.small_experiments import variants

ACTIVATIONS = get_args(Activation)
VISIBILITIES = ("bidirectional", "left_to_right", "right_to_left", "prefix")


@st.composite
def operations(draw: st.DrawFn, last: bool = False) -> str:
    """Draw one operation of a chain; a last one is no wider than the model."""
    kind = draw(st.sampled_from(("lin", "conv", "sep") if last else ("lin", "conv", "sep", "ln")))
    if kind == "ln":
        return kind
    kernel = "" if kind == "lin" else f":{draw(st.sampled_from((1, 3, 5)))}"
    width = draw(st.sampled_from(("0.5", "1") if last else ("0.5", "1", "2")))
    activation = draw(st.sampled_from(("", *(f":{name}" for name in ACTIVATIONS))))
    return f"{kind}{kernel}:{width}{activation}"


@st.composite
def items(draw: st.DrawFn) -> str:
    """Draw one sublayer, two in parallel, or a chain."""
    sublayers = ("s", "s(heads=2)", "f", "f(width=10)", "f(activation=relu)", "f(middle_norm=1,groups=1)", "g")
    sublayers += ("f(activation=swiglu)",)
    sublayers += ("s(bottleneck_ratio=2)", "s(convolution=none)", "f(groups=2)")
    recurrent = ("r", "r(hidden_width=5)")
    kind = draw(st.sampled_from(("sublayer", "sublayer", "parallel", "chain")))
    if kind == "sublayer":
        return draw(st.sampled_from((*sublayers, *recurrent)))
    if kind == "parallel":
        return f"[{draw(st.sampled_from(sublayers))}|{draw(st.sampled_from(sublayers))}]"
    first = draw(operations())
    if draw(st.booleans()):
        first = f"[{first}|{draw(operations())}]"
    return f"<{first} {draw(operations(last=True))}>"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Draw a layer program of up to five items."""
    return " ".join(draw(st.lists(items(), min_size=1, max_size=5)))


@st.composite
def any_architectures(draw: st.DrawFn, **fixed: Any) -> Architecture:
    """Draw an architecture that obeys the rules, from every axis."""
    width = 4 * draw(st.integers(1, 4))
    convolution: Convolution = draw(st.sampled_from(variants(draw(st.sampled_from((1, 3, 5))))))
    visibility = draw(st.sampled_from(VISIBILITIES))
    if isinstance(convolution, WithKernel):
        convolution = convolution.model_copy(update={"window": draw(st.sampled_from(WINDOWS[visibility]))})
    shares_values = isinstance(convolution, WithValue) and convolution.value == "shared"
    plain, heads = convolution.kind == "none", draw(st.sampled_from((2, 4)))
    in_attention = ("alibi", "rotary") if width // heads > 1 else ("alibi",)  # rotary turns pairs of channels
    placement = draw(st.sampled_from(("post_norm", "pre_norm")))
    sizes: dict[str, Any] = {
        "layers": draw(st.one_of(programs(), st.just("(s f)*3"))),
        "width": width,
        "embedding_width": draw(st.sampled_from((width, 6))),
        "heads": heads,
        "bottleneck_ratio": draw(st.sampled_from((1, 2))),
        "key_width": draw(st.sampled_from((None, 3))) if plain else None,
        "value_width": draw(st.sampled_from((None, 5))) if plain else None,
        "visibility": visibility,
        "convolution": convolution,
        "feed_forward_width": 8 * draw(st.integers(1, 3)),
        "feed_forward_groups": draw(st.sampled_from((1, 1, 2))),
        "feed_forward_activation": draw(st.sampled_from(get_args(FeedForwardActivation))),
        "feed_forward_biases": draw(st.booleans()),
        "attention_biases": draw(st.booleans()),
        "key_value_heads": draw(st.sampled_from((None, 1))) if not shares_values else None,
        "query_key_norm": draw(st.booleans()),
        "attention_score_cap": draw(st.sampled_from((None, None, 5.0))),
        "normalisation": {
            "kind": placement,
            "norm": draw(st.sampled_from(get_args(Norm))),
            "embedding": draw(st.booleans()),
            **({"first": draw(st.booleans())} if placement == "pre_norm" else {}),
        },
        "vocabulary_size": draw(st.integers(40, 60)),
        "position": {"kind": draw(st.sampled_from(("learned", "sinusoidal", "none", *in_attention)))},
        "positions": 32,
        "segments": draw(st.integers(0, 3)),
    }
    drawn = Architecture.model_validate({**sizes, **fixed})
    for sharing in draw(st.permutations(("attention", "feed_forward", "all"))):
        shared = drawn.model_copy(update={"sharing": sharing})
        if not list(shared.violations()) and draw(st.booleans()):
            return shared
    return drawn
