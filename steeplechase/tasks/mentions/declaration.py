"""The kinds of sources of mentions: a tagged union over `kind`."""

from typing import Annotated

from steeplechase.foundation.schema import OPTION
from steeplechase.tasks.mentions.file import MentionFile
from steeplechase.tasks.mentions.gazetteer import Gazetteer

Mentions = Annotated[MentionFile | Gazetteer, OPTION]
