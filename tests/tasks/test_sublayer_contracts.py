"""Every sublayer keeps the contracts, from another folder too; a wrong one breaks those it is wrong in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.layer_program import SublayerKind
from search_space.program_parser import InvalidProgram, parse_program
from search_space.sublayer import sublayers_by_letter
from steeplechase.commands.plugin_contracts import checked
from steeplechase.configuration.plugins import PluginError, load_plugin, sources_of
from steeplechase.models.contract import Outcome
from steeplechase.tasks.contracts import sublayers
from steeplechase.tasks.contracts.candidates import CONTRACTS as OF_CANDIDATES
from steeplechase.tasks.contracts.sublayers import CONTRACTS, sublayer_contracts
from tests.factories.paths import ROOT
from tests.factories.plugins import copy_of, loaded, no_plugins_left, replaced

pytestmark = pytest.mark.usefixtures("training_without_checks")

EXAMPLE = ROOT / "examples" / "token_shift"
OPTION, MODULE = "search_space/sublayer/token_shift.py", "models/sublayer/token_shift.py"
ENCODERS = [letter for letter in sublayers_by_letter() if letter != SublayerKind.CROSS_ATTENTION]


def faults(outcomes: Iterator[Outcome]) -> list[tuple[str, str]]:
    return [(each.contract, each.problem) for each in outcomes if each.problem]


@pytest.mark.parametrize("letter", ENCODERS)
def test_every_sublayer_of_encoders_keeps_every_contract(letter: str) -> None:
    sublayer = sublayers_by_letter()[letter]
    outcomes = [*sublayer_contracts(sublayer)]
    assert len(outcomes) == len(sublayer.examples) * (len(CONTRACTS) + len(OF_CANDIDATES))
    assert faults(iter(outcomes)) == []
    assert any(each.skipped for each in outcomes) == (not sublayer.measurable)


def test_every_letter_of_the_rules_is_a_sublayer() -> None:
    assert {*SublayerKind} == {*sublayers_by_letter()}


def test_the_example_keeps_every_contract_and_is_in_programs() -> None:
    with loaded(EXAMPLE) as plugin:
        assert not any(each.problem or each.skipped for each in checked(plugin))
        program = parse_program("(shift(inner_width=40) f)*2 [s|shift]")
        assert str(program) == "shift(inner_width=40) f shift(inner_width=40) f [s|shift]"
        built = Architecture.model_validate({"layers": "(shift f)*2"})
        assert Architecture.model_validate_json(built.model_dump_json()) == built
        assert [*built.violations()] == []
    with pytest.raises(InvalidProgram, match="'shift' is no sublayer; allowed: s, c, f, g, r"):
        parse_program("shift f")


def test_its_source_enters_the_keys_of_candidates_that_use_it_and_no_others() -> None:
    with loaded(EXAMPLE) as plugin:
        mixed, plain = (Candidate(architecture=Architecture(layers=text)) for text in ("[s|shift] f", "s f"))
        assert sources_of(mixed).keys() == {"search_space.sublayer.token_shift"}
        assert sources_of(plain) == {}
        used = plugin.source("search_space.sublayer.token_shift")
        assert used.keys() == {"search_space.sublayer.token_shift", "steeplechase.models.sublayer.token_shift"}


def test_a_sublayer_that_reads_other_tokens_is_refused_beside_a_memory_and_under_mixed_masks() -> None:
    with loaded(EXAMPLE):
        sizes = {"layers": "(s shift f)*2", "position": "relative", "memory": 16, "visibility": "left_to_right"}
        (violation,) = Architecture.model_validate(sizes).violations()
        assert violation.message == "shift reads no memory; allowed sublayers: s, f and g, without a convolution"
        mixed = Candidate.model_validate({"architecture": {"layers": "s shift f"}, "objective": "mixed_visibility"})
        assert "shift reads tokens that" in " ".join(each.message for each in mixed.violations())


@pytest.mark.parametrize(
    ("file", "right", "wrong", "contract"),
    [
        (OPTION, "linear_parameters(inner,", "linear_parameters(1 + inner,", "its parameters are those"),
        (OPTION, "linear(read, 2 * inner)", "linear(read, 3 * inner)", "multiply–adds are those counted"),
        (OPTION, "saved = read + 3 * inner", "saved = read", "saved activations are those kept"),
        (OPTION, '"shift"\n', '"shift"\n    positionwise: ClassVar[bool] = True\n', "positions interact as declared"),
        (OPTION, "VISIBLE_SIDE[sizes.visibility])", '"both")', "hidden tokens change nothing"),
        (MODULE, "x * padding_mask[..., None]", "x", "padding is the end of the sequence"),
        (MODULE, "self.output = ", "self.unused = nn.Linear(1, 1)\n        self.output = ", "gradients"),
    ],
)  # fmt: skip
def test_a_wrong_sublayer_breaks_the_contract_that_is_about_it(
    tmp_path: Path, file: str, right: str, wrong: str, contract: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, contracts in (("CONTRACTS", CONTRACTS), ("OF_CANDIDATES", OF_CANDIDATES)):
        named = {each: check for each, check in contracts.items() if each.startswith(contract)}
        monkeypatch.setattr(sublayers, name, named)
    folder = copy_of(EXAMPLE, tmp_path / "plugin")
    assert replaced(folder, right, wrong) == 1
    with loaded(folder):
        broken = faults(sublayer_contracts(sublayers_by_letter()["shift"]))
    assert broken


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ('letter: ClassVar[str] = "shift"', 'letter: ClassVar[str] = "s"', "the letter s is that of attention"),
        ('letter: ClassVar[str] = "shift"', 'letter: ClassVar[str] = "2x"', "letter '2x'; a layer program needs a"),
        ('letter: ClassVar[str] = "shift"', "", "TokenShift: a sublayer needs letter"),
        ('kind: ClassVar[str] = "token_shift"', 'kind: ClassVar[str] = "x"', "kind is 'x'; the file is named"),
    ],
)  # fmt: skip
def test_a_sublayer_that_no_program_can_name_is_refused(tmp_path: Path, right: str, wrong: str, message: str) -> None:
    folder = copy_of(EXAMPLE, tmp_path / "plugin")
    assert replaced(folder, right, wrong) == 1
    with no_plugins_left(), pytest.raises(PluginError) as refused:
        load_plugin(folder)
    (line,) = refused.value.lines
    assert line.startswith(f"{folder.resolve() / OPTION}: ")
    assert message in line


def test_a_sublayer_without_its_module_is_refused(tmp_path: Path) -> None:
    folder = copy_of(EXAMPLE, tmp_path / "plugin")
    (folder / MODULE).unlink()
    with no_plugins_left(), pytest.raises(PluginError, match="an option without its module"):
        load_plugin(folder)
