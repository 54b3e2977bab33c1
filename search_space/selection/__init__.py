"""Which tokens an objective masks: one file per option, with its declaration and its arithmetic."""

from typing import Annotated

from search_space.selection.ngram import NGram
from search_space.selection.option import SelectionOption
from search_space.selection.span_geometric import SpanGeometric
from search_space.selection.token import SingleToken
from search_space.selection.whole_word import WholeWord
from search_space.selection.windowed_ngram import WindowedNGram
from steeplechase.foundation.schema import OPTION

Selection = Annotated[SelectionOption, OPTION]

__all__ = ["NGram", "Selection", "SelectionOption", "SingleToken", "SpanGeometric", "WholeWord", "WindowedNGram"]
