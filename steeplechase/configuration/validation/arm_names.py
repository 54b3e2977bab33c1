"""The names of arms in a warning."""

ARMS_NAMED = 4


def named(names: list[str], among: int) -> str:
    """Return the first names of arms, or that they are all."""
    if len(names) == among:
        return "every arm"
    more = f" and {len(names) - ARMS_NAMED} more" if len(names) > ARMS_NAMED else ""
    return f"{', '.join(names[:ARMS_NAMED])}{more}"
