"""The grid of trials: a mark per trial if there is room, else counts, within any width."""

from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from steeplechase.commands.terminal.trial_grid import MARKS, trial_grid
from steeplechase.ledger.records import TrialRow, TrialStatus

STANDINGS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 5), st.sampled_from(TrialStatus)),
    min_size=1,
    unique_by=lambda one: one[:2],
)


def trials(found: list[tuple[int, int, TrialStatus]]) -> list[tuple[TrialRow, TrialStatus]]:
    return [(TrialRow(f"arm-{arm}/{seed}", f"arm-{arm}", seed), standing) for arm, seed, standing in found]


def drawn(standings: list[tuple[TrialRow, TrialStatus]], width: int, height: int, ascii_only: bool) -> list[str]:
    console = Console(file=StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(trial_grid(standings, width, height, ascii_only))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


@given(STANDINGS, st.integers(20, 200), st.integers(0, 40), st.booleans())
def test_every_trial_has_its_mark_or_all_are_counted(
    found: list[tuple[int, int, TrialStatus]], width: int, height: int, ascii_only: bool
) -> None:
    lines = drawn(trials(found), width, height, ascii_only)
    assert max(map(cell_len, lines)) <= width
    if (line := " ".join("".join(f"{line} " for line in lines).split())).startswith("trials: "):
        assert f"of {len(found)} ended" in line
        return
    grid = "".join(lines[1:])  # below the legend
    for standing, (mark, plain, _) in MARKS.items():
        expected = sum(one[2] is standing for one in found)
        shown = plain if ascii_only else mark
        assert grid.count(shown) - (found_dashes(found) if shown == "-" else 0) == expected
    assert not ascii_only or all(line.isascii() for line in lines)


def found_dashes(found: list[tuple[int, int, TrialStatus]]) -> int:
    return len({arm for arm, _, _ in found})  # each name has one
