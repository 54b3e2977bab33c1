"""Settings of the command line are put over one scale's document, and refused in their own words."""

from pathlib import Path

import pytest

from steeplechase.configuration.yaml import ConfigurationFile, read_file
from steeplechase.configuration.yaml.nodes import plain
from steeplechase.configuration.yaml.settings import changed_keys, with_settings
from steeplechase.foundation.errors import ConfigurationError

FILE = """
a: 1
option: dynamic
items: [1, 2]
inner: { x: 1, w: 2 }
vary: { option.kernel_size: [3, 9] }
scales:
  small: { a: 2 }
  large: { a: 3 }
"""


@pytest.fixture
def file(tmp_path: Path) -> ConfigurationFile:
    (tmp_path / "file.yaml").write_text(FILE)
    return read_file(tmp_path / "file.yaml")


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("a=1e5", "a", 1e5),
        ("a=7", "a", 7),
        ("a=two words", "a", "two words"),
        ("inner.x=5", "inner", {"x": 5, "w": 2}),
        ("inner={ z: 1 }", "inner", {"z": 1}),
        ("inner={ kind: b }", "inner", {"kind": "b"}),
        ("inner={}", "inner", {}),
        ("items=[3]", "items", (3,)),
        ("option.kernel_size=5", "option", {"kind": "dynamic", "kernel_size": 5}),
        ("new.deep.key=null", "new", {"deep": {"key": None}}),
        ("vary.option.kernel_size=[5]", "vary", {"option.kernel_size": (5,)}),
    ],
)
def test_a_value_is_put_where_its_key_says(file: ConfigurationFile, setting: str, key: str, value: object) -> None:
    changed = with_settings(file, "small", [setting])
    assert plain(changed.documents["small"])[key] == value  # type: ignore[index]
    assert plain(changed.documents["large"]) == plain(file.documents["large"])
    assert changed.scales == file.scales


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("a", "a key and a value are needed, such as pretraining.tokens=1e5"),
        ("=1", "a key and a value are needed, such as pretraining.tokens=1e5"),
        ("a..b=1", "a key and a value are needed, such as pretraining.tokens=1e5"),
        ("a=", "a key and a value are needed, such as pretraining.tokens=1e5"),
        ("scales.small.a=1", "a scale is chosen by --scale"),
        ("plugins=[x]", "plugins are read before any setting; name them in the file"),
        ("items.0=3", "items is a list in the file, without keys; set it as a whole: --set items=..."),
        ("a.b=3", "a is a single value in the file, without keys; set it as a whole: --set a=..."),
    ],
)
def test_a_setting_that_cannot_be_applied_is_refused_with_its_flag(
    file: ConfigurationFile, setting: str, reason: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _ = with_settings(file, "small", [setting]).scales
    assert refused.value.lines == (f"--set {setting}: {reason}",)


@pytest.mark.parametrize(("setting", "code"), [("a=red\x1b[31m", "U+001B"), ("a=red\udcff", "U+DCFF")])
def test_a_control_character_in_a_setting_is_one_printable_line(
    file: ConfigurationFile, setting: str, code: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _ = with_settings(file, "small", [setting]).scales
    (line,) = refused.value.lines
    assert line.isprintable()
    assert line.endswith(f": the character {code} at byte offset 3 is not allowed; remove it")


def test_a_value_that_is_no_yaml_is_refused_in_one_line(file: ConfigurationFile) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _ = with_settings(file, "small", ["a=[1"]).scales
    (line,) = refused.value.lines
    assert line.startswith("--set a=[1: ")


def test_every_mistake_is_reported_at_once_and_a_key_is_set_once(file: ConfigurationFile) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _ = with_settings(file, "small", ["a=yes", "b", "inner.x=1", "inner.x=2"]).scales
    flags = {line.partition(": ")[0] for line in refused.value.lines}
    assert flags == {"--set a=yes", "--set b", "--set inner.x=2"}


def test_later_settings_are_put_over_earlier_ones(file: ConfigurationFile) -> None:
    changed = with_settings(file, None, ["inner={ x: 9 }", "inner.w=8"])
    assert plain(changed.documents[None])["inner"] == {"x": 9, "w": 8}  # type: ignore[index]
    assert [*changed_keys(["inner.w= 8", "a=b=c"])] == ["w=8", "a=b=c"]
