"""`steeplechase schema`: the JSON schema of experiment files, for editors that complete and check as one types."""

from runners.experiment import Experiment
from runners.loading.schema import schema_text


def schema() -> None:
    """Print the JSON schema of experiment files; experiments/schema.json is this."""
    print(schema_text(Experiment), end="")  # noqa: T201
