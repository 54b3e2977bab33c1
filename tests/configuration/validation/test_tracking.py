"""`tracking:` without a password, in experiments and timings, whatever its place in the address."""

from pathlib import Path

import pytest

from steeplechase.configuration.loading import experiment_in, load_experiment
from steeplechase.configuration.yaml import read_file
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.paths import EXPERIMENTS

TABLE, TIMING = EXPERIMENTS / "table2.yaml", EXPERIMENTS / "table9.yaml"
PASSWORDS = (
    "postgresql://someone:hunter2@host/mlflow",
    "https://someone:hunter2@host",
    "postgresql://host/mlflow?user=someone&password=hunter2",
)


def with_tracking(file: Path, uri: str, folder: Path) -> Path:
    written = folder / file.name
    written.write_text(f'tracking: "{uri}"\n{file.read_text(encoding="utf-8")}', encoding="utf-8")
    return written


@pytest.mark.parametrize("uri", PASSWORDS)
@pytest.mark.parametrize("file", [TABLE, TIMING], ids=lambda file: file.stem)
def test_a_password_is_refused_in_one_line_that_does_not_repeat_it(file: Path, uri: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        experiment_in(read_file(with_tracking(file, uri, tmp_path)), "smoke")
    (line,) = refused.value.lines
    assert f"{file.name}:1: tracking: holds a password" in line
    assert line.endswith("set MLFLOW_TRACKING_URI to the whole address")
    assert "hunter2" not in line


@pytest.mark.parametrize("uri", ["postgresql://someone@host/mlflow", "https://host", "sqlite:///file.db"])
def test_addresses_without_a_password_are_accepted(uri: str, tmp_path: Path) -> None:
    assert load_experiment(with_tracking(TABLE, uri, tmp_path), "smoke").tracking == uri
