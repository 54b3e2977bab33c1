"""Keys of stages, which are digests."""

from hashlib import sha256


def key_of(name: str) -> str:
    """Return the key of a stage that a test calls by a name."""
    return sha256(name.encode()).hexdigest()


KEY = key_of("key")
