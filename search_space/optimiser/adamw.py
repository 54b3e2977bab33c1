"""AdamW: Adam with decoupled weight decay. Loshchilov and Hutter 2019, arXiv 1711.05101, algorithm 2."""

from typing import ClassVar, Literal

from foundation.schema import Schema


class AdamW(Schema):
    """Adam with bias correction; the weight decay is not part of the gradient. ELECTRA's release corrects no bias."""

    adaptive: ClassVar[bool] = True
    kind: Literal["adamw"] = "adamw"
    """Chooses AdamW, which BERT, RoBERTa and ELECTRA use."""
