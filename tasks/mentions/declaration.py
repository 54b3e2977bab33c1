"""The kinds of sources of mentions: a tagged union over `kind`."""

from typing import Annotated

from foundation.schema import OPTION
from tasks.mentions.file import MentionFile
from tasks.mentions.gazetteer import Gazetteer

Mentions = Annotated[MentionFile | Gazetteer, OPTION]
