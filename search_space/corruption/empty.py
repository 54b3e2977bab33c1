"""Language modelling by the decoder: the source has no token. BART, arXiv 1910.13461, section 4.1, Language Model."""

from typing import ClassVar, Literal

from search_space.corruption.option import WholeTarget
from search_space.corruption.row import Context, Corrupted, whole_target
from steeplechase.foundation.numpy_on_use import Numbers, np


class Empty(WholeTarget):
    """Each token is predicted from those before it alone."""

    is_random: ClassVar[bool] = False

    kind: Literal["empty"] = "empty"
    """Chooses an empty source."""

    def corrupted(self, tokens: Numbers, context: Context) -> Corrupted:
        """Return a source without tokens, with the whole text as its target."""
        return whole_target(np.empty(0, np.int64), tokens, context.tokenizer)
