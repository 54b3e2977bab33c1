"""The copy of a plugin in results is what was loaded, also if the folder changes and other runs copy it too."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from steeplechase.configuration.plugin_folders import COPIES, PluginFolder, copy_plugins
from steeplechase.configuration.plugins import PluginError
from tests.factories.plugins import copy_of_example, loaded, replaced


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the example plugin."""
    return copy_of_example(tmp_path / "example")


def test_a_plugin_that_changes_before_it_is_copied_leaves_no_copy_under_the_former_name(
    copy: Path, tmp_path: Path
) -> None:
    with loaded(copy) as plugin:
        wanted = [PluginFolder(path=str(copy), sha256=plugin.sha256)]
        assert replaced(copy, "return 4 * shape.inner_width", "return 5 * shape.inner_width") == 1
        with pytest.raises(PluginError, match="changed since they were loaded"):
            copy_plugins(wanted, tmp_path / COPIES)
        replaced(copy, "return 5 * shape.inner_width", "return 4 * shape.inner_width")
        copy_plugins(wanted, tmp_path / COPIES)
        assert [path.name for path in (tmp_path / COPIES).iterdir()] == [plugin.sha256]
    with loaded(tmp_path / COPIES / plugin.sha256) as again:
        assert again.sha256 == plugin.sha256


def test_two_runs_copy_a_plugin_at_the_same_time(copy: Path, tmp_path: Path) -> None:
    with loaded(copy) as plugin:
        wanted = [PluginFolder(path=str(copy), sha256=plugin.sha256)]
        with ThreadPoolExecutor(8) as runs:
            for number in range(20):
                together = Barrier(8)

                def run(place: Path = tmp_path / str(number), together: Barrier = together) -> None:
                    together.wait()
                    copy_plugins(wanted, place / COPIES)

                (tmp_path / str(number)).mkdir()
                for done in [runs.submit(run) for _ in range(8)]:
                    done.result()
                assert [path.name for path in (tmp_path / str(number) / COPIES).iterdir()] == [plugin.sha256]
