"""Single tokens, drawn independently of each other. Devlin et al. 2018, arXiv 1810.04805, section 3.1."""

from typing import Literal

from search_space.selection.option import SelectionOption


class SingleToken(SelectionOption):
    """Every token is drawn with the same probability, pieces of one word independently."""

    kind: Literal["token"] = "token"
    """Chooses single tokens."""
