"""`steeplechase schema`: the JSON schema of experiment files, for completion and validation in editors."""

from steeplechase.configuration.experiment_schema import files_schema_text


def schema() -> None:
    """Print the JSON schema of experiment files; experiments/schema.json is this."""
    print(files_schema_text(), end="")  # noqa: T201
