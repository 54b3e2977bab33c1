"""Named random streams: a seed per root seed, purpose and index; there is no global generator.

Two candidates at the same pretraining seed draw the same batches in the same order, so their comparison is
paired; results do not depend on the order of trials, process ids or the clock.
"""

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def stream_seed(seed: int, purpose: str, *indices: int) -> int:
    """Return a 63-bit seed for one purpose (and, say, one step) of one root seed."""
    text = ":".join([str(seed), purpose, *map(str, indices)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def stream(seed: int, purpose: str, *indices: int) -> "np.random.Generator":
    """Return the numpy generator of one named stream."""
    import numpy as np  # here, because the seeds alone do without

    return np.random.Generator(np.random.Philox(key=stream_seed(seed, purpose, *indices)))
