"""The validation split has to give as many sequences as a setting asks for."""

from steeplechase.foundation.errors import DataError


def require_sequences(setting: str, asked: int, found: int) -> None:
    """Raise DataError, with what to write instead, where fewer sequences were found than the setting asks for."""
    if found < asked:
        fix = f"write at most {found}, or give more text" if found else "give more text"
        raise DataError(f"{setting} is {asked}, and the validation split has {found} sequences: {fix}")
