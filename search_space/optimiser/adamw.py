"""AdamW: Adam with decoupled weight decay. Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2."""

from typing import Literal

from search_space.optimiser.option import OptimiserOption


class AdamW(OptimiserOption):
    """Adam with bias correction; the weight decay is not part of the gradient. ELECTRA's release corrects no bias."""

    kind: Literal["adamw"] = "adamw"
    """Chooses AdamW, which BERT, RoBERTa and ELECTRA use."""

    @property
    def title(self) -> str:
        """Its name in the text of a recipe: papers call AdamW Adam."""
        return "Adam"
