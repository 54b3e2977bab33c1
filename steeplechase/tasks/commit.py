"""A commit hash as a revision: 40 hexadecimal digits that always identify the same files, unlike a branch or tag."""

import re
from typing import Annotated

from pydantic import AfterValidator

FORM = re.compile(r"[0-9a-f]{40}")


def _validated(revision: str) -> str:
    if not FORM.fullmatch(revision):
        message = f"{revision!r} is not a commit hash; expected 40 hexadecimal digits"
        raise ValueError(f"{message}, since a branch or a tag may move and change results in silence")
    return revision


Commit = Annotated[str, AfterValidator(_validated)]
