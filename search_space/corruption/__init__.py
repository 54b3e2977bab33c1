"""How an encoder–decoder's source is made of a text: one file per option, its arithmetic included."""

from typing import Annotated

from search_space.corruption.empty import Empty
from search_space.corruption.fragment import Fragment
from search_space.corruption.masked_tokens import MaskedTokens
from search_space.corruption.option import CorruptionOption
from search_space.corruption.permuted_tokens import PermutedTokens
from search_space.corruption.rotation import Rotation
from search_space.corruption.row import Context, Corrupted
from search_space.corruption.sentence_permutation import SentencePermutation
from search_space.corruption.text_infilling import TextInfilling
from search_space.corruption.token_deletion import TokenDeletion
from search_space.corruption.token_masking import TokenMasking
from steeplechase.foundation.schema import OPTION

Corruption = Annotated[CorruptionOption, OPTION]

__all__ = [
    "Context",
    "Corrupted",
    "Corruption",
    "CorruptionOption",
    "Empty",
    "Fragment",
    "MaskedTokens",
    "PermutedTokens",
    "Rotation",
    "SentencePermutation",
    "TextInfilling",
    "TokenDeletion",
    "TokenMasking",
]
