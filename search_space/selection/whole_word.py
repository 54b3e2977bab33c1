"""Whole words: all pieces of a word or none. BERT's release, create_pretraining_data, do_whole_word_mask."""

from typing import Literal

from search_space.selection.option import SelectionOption


class WholeWord(SelectionOption):
    """Words are drawn until the budget is reached; a word that does not fit into the rest of it is passed over."""

    kind: Literal["whole_word"] = "whole_word"
    """Chooses whole words."""
