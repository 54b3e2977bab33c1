"""Wrong experiment files: each gives the messages beside it in the table `wrong.txt`."""

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from steeplechase.analysis.difference import MeanTest
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.yaml.schema_paths import allowed_locations
from steeplechase.foundation.errors import ConfigurationError, UserError
from steeplechase.foundation.other_names import OTHER_NAMES

HERE = Path(__file__).parent
VALID = HERE / "valid.yaml"
TABLE = (HERE / "wrong.txt").read_text(encoding="utf-8")
CASES = {
    name: (text, messages.splitlines())
    for name, _, rest in (case.partition("\n") for case in f"\n{TABLE}".split("\n== ")[1:])
    for text, _, messages in [rest.partition("-- messages\n")]
}
"""By name, a wrong file and what is said of it."""
SECONDS_AT_MOST = 1.0

# what people and faulty editors put into YAML
FRAGMENTS = (
    *("\t", "  ", "\n", "\n\n", ": ", *":[]{}#'\"|>,?%@`", "- "),
    *("&a ", "*a", "<<: ", "!!set ", "!x ", "---\n", "...\n", "null", "~", "true", "no", "yes", "010", "0x1F", "1_0"),
    *(
        "1e-3",
        "1E400",
        "-1",
        "0",
        "2.5",
        ".nan",
        ".inf",
        "12:30:45",
        "2024-01-01",
        "9" * 400,
        "[" * 60,
        "kind: ",
        "x",
    ),
    *(
        "\u202e",
        "\u200b",
        "\x00",
        "\ufeff",
        "é",
        "\\ud800",
        '"\\ud800"',
        "\r",
        "\u2028",
        "scales:\n",
        "[[1, 2], {a: 1}]",
    ),
)


@some.composite
def mutated(draw: some.DrawFn) -> str:
    """The valid file after one to six edits: a fragment put in, put over something, or lines moved or lost."""
    text = VALID.read_text(encoding="utf-8")
    for _ in range(draw(some.integers(1, 6))):
        start = draw(some.integers(0, len(text)))
        length = draw(some.sampled_from((0, 0, 1, 3, 12)))
        edit = draw(some.sampled_from(("fragment", "line lost", "line twice", "text")))
        if edit == "fragment":
            text = text[:start] + draw(some.sampled_from(FRAGMENTS)) + text[start + length :]
        elif edit == "text":
            text = text[:start] + draw(some.text(max_size=4)) + text[start + length :]
        else:
            lines = text.splitlines(keepends=True) or [""]
            index = draw(some.integers(0, len(lines) - 1))
            lines[index : index + 1] = [] if edit == "line lost" else [lines[index]] * 2
            text = "".join(lines)
    return text


def refusal_of(file: Path, scale: str | None) -> tuple[str, ...]:
    try:
        load_experiment(file, scale)
    except UserError as refusal:
        return refusal.lines
    return ()


def seconds_of_this_thread(file: Path, scale: str | None) -> float:
    started = time.thread_time()
    refusal_of(file, scale)
    return time.thread_time() - started


@pytest.mark.parametrize("scale", [None, "smoke", "laptop"])
def test_the_valid_file_is_accepted(scale: str | None) -> None:
    assert load_experiment(VALID, scale).experiment == "kernels"


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every wrong file of the table."""
    folder = tmp_path_factory.mktemp("wrong")
    for name, (text, _) in CASES.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_file_gives_the_messages_of_the_table(
    name: str, wrong: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(wrong)
    before = sorted(Path().iterdir())
    with pytest.raises(ConfigurationError) as refusal:
        load_experiment(Path(f"{name}.yaml"), None)
    assert list(refusal.value.lines) == CASES[name][1]
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("comparison", MeanTest)
def test_a_file_declares_the_test_that_decides(comparison: MeanTest, tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(f"comparison: {comparison}\n{VALID.read_text(encoding='utf-8')}", encoding="utf-8")
    experiment = load_experiment(file, None)
    assert isinstance(experiment, Experiment)
    assert experiment.comparison is comparison


@given(mutated(), some.sampled_from((None, "smoke", "laptop", "moon")))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_mutated_file_is_accepted_or_refused_within_a_second(
    tmp_path_factory: pytest.TempPathFactory, text: str, scale: str | None
) -> None:
    folder = tmp_path_factory.mktemp("mutated")
    file = folder / "experiment.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    for line in refusal_of(file, scale):
        assert line.startswith(str(file))
        assert line.isprintable()
    # a file that blows up is slow every time; a thread of another test is not
    assert any(seconds_of_this_thread(file, scale) < SECONDS_AT_MOST for _ in range(3))
    assert [path.name for path in folder.iterdir()] == ["experiment.yaml"]


def test_names_of_others_lead_to_keys_and_are_none_beside_them() -> None:
    for name, others in OTHER_NAMES.items():
        places = {*allowed_locations(Experiment, name.rpartition(".")[2])}
        assert places, name
        for other in others:
            assert name.endswith(f".{other}") or not places & {*allowed_locations(Experiment, other)}, (name, other)
