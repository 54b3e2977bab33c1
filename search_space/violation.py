"""A rule that a declaration breaks, with the place in the document where the user can mend it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """`path` leads from the declaration to the offending value; `message` says rule, values and remedy."""

    path: tuple[str | int, ...]
    message: str

    def under(self, *prefix: str | int) -> "Violation":
        """Return the same violation seen from an enclosing declaration."""
        return Violation((*prefix, *self.path), self.message)
