"""Every option keeps the option contracts, from another folder too; a wrong one breaks those it is wrong in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution.kernel import WithKernel
from search_space.convolution.option import ConvolutionOption
from search_space.overrides import InvalidOverride, apply
from search_space.summary import receptive_field
from steeplechase.foundation.schema import options_of
from steeplechase.models.contract import Outcome
from steeplechase.models.option_contracts import CONTRACTS, contracts_of, outcomes
from tests.factories.plugins import KIND, copy_of_example, loaded, replaced
from tests.factories.small_experiments import title, variants


def faults(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(each.contract, each.problem) for each in outcomes if each.problem]


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder of a plugin that is loaded until the test ends."""
    with loaded(copy_of_example(tmp_path / "plugin")):
        yield tmp_path / "plugin"


def options() -> dict[str, type[ConvolutionOption]]:
    return {option.model_fields["kind"].default: option for option in options_of(ConvolutionOption)}


@pytest.mark.parametrize("kind", options())
def test_every_option_keeps_every_contract(kind: str) -> None:
    found = [*contracts_of(options()[kind])]
    assert len(found) == len(CONTRACTS) * len(options()[kind].examples)
    assert faults(found) == []


@pytest.mark.parametrize("window", ["look_back", "look_ahead"])
@pytest.mark.parametrize("option", [each for each in variants() if isinstance(each, WithKernel)], ids=title)
def test_every_window_keeps_every_contract(option: WithKernel, window: str) -> None:
    shifted = type(option).model_validate({**option.model_dump(), "window": window, "kernel_size": 4})
    assert shifted.reach.tokens == 4
    assert faults([*outcomes(shifted, window)]) == []


def test_a_window_that_reads_hidden_tokens_is_refused_by_its_reach(plugin: Path) -> None:
    for visibility in ("left_to_right", "right_to_left"):
        built = Architecture.model_validate({"visibility": visibility, "convolution": KIND})
        (violation,) = built.violations()
        assert violation.message == f"a window of 17 tokens reads tokens that {visibility} attention hides"


def test_a_correct_option_from_another_folder_keeps_every_contract(plugin: Path) -> None:
    found = [*contracts_of(options()[KIND])]
    assert faults(found) == []
    assert not any(each.skipped for each in found)
    assert len(found) == len(CONTRACTS)


@pytest.mark.parametrize(
    ("right", "wrong", "contract"),
    [
        ("return 4 * shape.inner_width", "return 42 * shape.inner_width // 10", "saved activations"),
        (
            "return linear_parameters(shape.width,",
            "return linear_parameters(1 + shape.width,",
            "parameters are those",
        ),
        ("linear(shape.width, 2 *", "linear(shape.width, 3 *", "FLOPs are those counted"),
        ("return Reach(side, side)", "return Reach(side, side + 1)", "the window is the declared reach"),
        ("without_padding(values, padding_mask)", "values", "padding is the end of the sequence"),
        (
            "nn.init.constant_(self.kernel, 1 / self.kernel.shape[-1])",
            "nn.init.normal_(self.kernel)",
            "initial values",
        ),
        ("self.kernel.to(", "self.kernel.detach().to(", "gradients reach"),
    ],
)
def test_a_wrong_option_breaks_the_contract_that_is_about_it(
    tmp_path: Path, right: str, wrong: str, contract: str
) -> None:
    folder = copy_of_example(tmp_path / "plugin")
    assert replaced(folder, right, wrong) == 1
    with loaded(folder):
        ((broken, problem),) = faults([*contracts_of(options()[KIND])])
    assert broken.startswith(contract), problem


def test_an_option_from_another_folder_is_used_as_if_built_in(plugin: Path) -> None:
    built = Architecture.model_validate({"depth": 3, "convolution": {"kind": KIND, "kernel_size": 9, "dilation": 4}})
    assert Architecture.model_validate_json(built.model_dump_json()) == built
    assert receptive_field(built) == 1 + 3 * 32
    assert apply(Candidate(), {"convolution": KIND, "convolution.dilation": 3}).architecture.convolution.reach == (
        type(built.convolution)(dilation=3).reach  # type: ignore[call-arg]
    )
    with pytest.raises(InvalidOverride, match="belongs to gated_dilated"):
        apply(Candidate(), {"convolution.dilation": 3})
    (violation,) = Candidate(architecture=built.model_copy(update={"positions": 16})).violations()
    assert violation.message == "128 is longer than the 16 positions of the architecture"
