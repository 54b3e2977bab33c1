"""Adam with L2 regularisation. Kingma and Ba 2015, arXiv 1412.6980, algorithm 1."""

from typing import ClassVar, Literal

from foundation.schema import Schema


class Adam(Schema):
    """Adam with bias correction; the weight decay is added to the gradient (Transformer, GPT)."""

    adaptive: ClassVar[bool] = True
    kind: Literal["adam"] = "adam"
    """Chooses Adam; `recipe.weight_decay` is then L2 regularisation."""
