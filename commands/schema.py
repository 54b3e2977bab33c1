"""`steeplechase schema`: the JSON schema of experiment files, for editors that complete and check as one types."""

from configuration.experiment_files import files_schema_text


def schema() -> None:
    """Print the JSON schema of experiment files; experiments/schema.json is this."""
    print(files_schema_text(), end="")  # noqa: T201
