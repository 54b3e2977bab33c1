"""Messages about an unreachable mirror, without credentials."""

import re

from steeplechase.foundation.errors import MachineError

USER_INFORMATION = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)\S*@")  # greedy: a password may hold an @
NAMED_SECRET = re.compile(r"(?i)(?P<name>[?&;](?:password|passwd|token|secret|key|auth)[^=\s]*=)[^&;\s]+")
LONGEST_REASON_CHARACTERS = 300


class TrackingUnavailable(MachineError):
    """The mirror could not be brought up to date. No result is lost: the next mirror catches up."""


def redacted(text: str) -> str:
    """Return the text with user names, passwords and tokens of URIs replaced by `***`."""
    return NAMED_SECRET.sub(r"\g<name>***", USER_INFORMATION.sub(r"\g<scheme>***@", text))


def reason_of(error: BaseException) -> str:
    """Return the first line of an error, redacted and not too long."""
    text = str(error).strip() or type(error).__name__
    return redacted(text.splitlines()[0])[:LONGEST_REASON_CHARACTERS]
