"""The optimiser of pretraining: the options, each with the parameters that it alone has."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from search_space.optimiser.option import OptimiserOption
from steeplechase.foundation.schema import OPTION

Optimiser = Annotated[OptimiserOption, OPTION]


class AdamW(OptimiserOption):
    """Adam with bias correction; the weight decay is not part of the gradient. ELECTRA's release corrects no bias.

    Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2.
    """

    kind: Literal["adamw"] = "adamw"
    """Chooses AdamW, which BERT, RoBERTa and ELECTRA use."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe: papers call AdamW Adam."""
        return "Adam"


class Adam(OptimiserOption):
    """Adam with bias correction; the weight decay is added to the gradient (Transformer, GPT).

    Kingma and Ba 2015, arXiv 1412.6980, algorithm 1.
    """

    kind: Literal["adam"] = "adam"
    """Chooses Adam; `recipe.weight_decay` is then L2 regularisation."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return "Adam with L2 regularisation"


class Sgd(OptimiserOption):
    """Gradient descent with momentum; the weight decay is added to the gradient (arXiv 2002.04745, Pre-LN).

    Sutskever et al. 2013, section 2, without Nesterov's correction.
    """

    adaptive: ClassVar[bool] = False
    kind: Literal["sgd"] = "sgd"
    """Chooses SGD; `recipe.weight_decay` is then L2 regularisation."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Share of the last update's direction that is kept; 0 is plain gradient descent."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return f"SGD with momentum {self.momentum:g}"


class Lamb(OptimiserOption):
    """Every matrix's update has a norm proportional to the matrix's own, for large batches (ALBERT).

    You et al. 2020, arXiv 1904.00962, algorithm 2: AdamW with a trust ratio for each matrix.
    """

    kind: Literal["lamb"] = "lamb"
    """Chooses LAMB; normalisations and biases have neither weight decay nor a trust ratio, as in its release."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return "LAMB"


class StableAdamW(OptimiserOption):
    """The rate of a parameter is divided by the root mean square of gradient over moment where that is above 1.

    Algorithm 2, the update clipping of AdaFactor. ModernBERT was pretrained with it (arXiv 2412.13663).

    Wortsman et al. 2023, arXiv 2304.13013.
    """

    kind: Literal["stable_adamw"] = "stable_adamw"
    """Chooses StableAdamW, which needs no clipping of gradients."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return "StableAdamW"


class Muon(OptimiserOption):
    """The momentum of a matrix with its singular values near 1, as large as an update of AdamW.

    Embeddings, grouped maps, vectors and everything outside the blocks have AdamW, at the same learning rate.

    Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/; weight decay and size of updates: Liu et al.
    2025, arXiv 2502.16982.
    """

    kind: Literal["muon"] = "muon"
    """Chooses Muon; `recipe.adam_beta1`, `adam_beta2` and `adam_epsilon` are those of AdamW for the rest."""
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.95
    """Share of the momentum that is kept, with Nesterov's correction. Default: Jordan et al.'s."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe."""
        return f"Muon with momentum {self.momentum:g}, AdamW outside the matrices of blocks"
