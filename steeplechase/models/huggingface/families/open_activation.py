"""Families whose config.json may choose the activation function and the epsilon of the layer norms."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from search_space.architecture import Architecture
from steeplechase.foundation.schema import JsonValue
from steeplechase.models.huggingface.families.family import FIXED, Family

ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu", "silu": "swish", "swish": "swish"}
"""Function of `hidden_act` and of this project; of several names of one function the first is written."""
EPSILON, ACTIVATION = "layer_norm_eps", "hidden_act"


class WithActivation(Family):
    """A family with its activation function and epsilon in config.json."""

    fixed: ClassVar = {key: value for key, value in FIXED.items() if key not in (EPSILON, ACTIVATION)}
    converted = frozenset({
        "bottleneck_ratio", "convolution", "feed_forward_groups", "normalisation", "feed_forward_activation",
    })  # fmt: skip
    placement: ClassVar[str] = "post_norm"
    """The kind of normalisation of the family."""

    def keys(self, architecture: Architecture) -> dict[str, JsonValue]:
        """Return the activation function and the epsilon."""
        names = [name for name, ours in ACTIVATIONS.items() if ours == architecture.feed_forward_activation]
        return {ACTIVATION: names[0], EPSILON: architecture.normalisation.epsilon}

    def wrong_values(self, configured: Mapping[str, JsonValue]) -> Iterator[str]:
        """Yield the keys with values that no architecture has."""
        yield from super().wrong_values(configured)
        yield from wrong_activation(configured, ACTIVATION, EPSILON, ACTIVATIONS)

    def fields(self, configured: Mapping[str, JsonValue]) -> dict[str, object]:
        """Return the fields of the equivalent architecture."""
        activation = ACTIVATIONS[str(configured[ACTIVATION])]
        normalisation = {"kind": self.placement, "epsilon": configured[EPSILON]}
        return super().fields(configured) | {
            "feed_forward_activation": activation,
            "normalisation": normalisation,
        }


def wrong_activation(
    configured: Mapping[str, JsonValue], activation: str, epsilon: str, allowed: Mapping[str, str]
) -> Iterator[str]:
    """Yield what is wrong with the values of two keys: the activation function and the epsilon of the layer norms."""
    name, value = configured[activation], configured[epsilon]
    if name not in allowed:
        yield f"{activation}: {name!r:.80} is not supported; allowed: {', '.join(map(repr, allowed))}"
    if not isinstance(value, float) or not 0 < value < 1:
        yield f"{epsilon}: {value!r:.80} is not a number between 0 and 1"
