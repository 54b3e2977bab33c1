"""One logit per vector: the copy mechanism and the value of adversarial training of ELECTRA. Clark et al. 2020."""

from jaxtyping import Float
from torch import Tensor, nn

from steeplechase.models.precision import to_float32


class LogitHead(nn.Module):
    """A linear map to one logit; `name` is that of the map's parameters in checkpoints."""

    def __init__(self, width: int, name: str) -> None:
        super().__init__()
        self.name = name
        self.add_module(name, nn.Linear(width, 1))

    def forward(self, x: Float[Tensor, "predicted width"]) -> Float[Tensor, " predicted"]:
        """Return the logits."""
        logits: Tensor = self.get_submodule(self.name)(x)
        return to_float32(logits.squeeze(-1))
