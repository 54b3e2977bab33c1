"""`tracking:`, the address of the MLflow store, without a password: published rows hold the experiment."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import Violation

SECRET = re.compile(r"(?i)[?&;](?:password|passwd|token|secret|sslpassword)=")
MESSAGE = (
    "holds a password, which the ledger and published rows would keep; "
    "leave it out, and set MLFLOW_TRACKING_URI to the whole address"
)


def tracking_violations(experiment: Experiment) -> Iterator[Violation]:
    """Yield a violation for an address with a password."""
    uri = experiment.tracking or ""
    try:
        named = urlsplit(uri).password is not None
    except ValueError:  # not an address; the tracking store's own message says so
        named = False
    if named or SECRET.search(uri):
        yield Violation(("tracking",), MESSAGE)
