"""Progress of a run: one line per stage with the remaining time, at little cost."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from io import StringIO
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from runners.cost_estimate.flops import stage_flops
from runners.run_progress import RunProgress
from runners.stages.context import StageProgress
from runners.stages.pretrain import PretrainStage
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask
from search_space.objective import MaskedLanguageModel
from steeplechase.commands.terminal import live_view, screen
from steeplechase.commands.terminal.live_view import LiveView
from steeplechase.commands.terminal.screen import MARKS, trial_grid
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import TrialRow, TrialStatus
from steeplechase.tasks.contracts.small_candidates import small_candidate
from tests.factories import simulated_training as simulated


@pytest.mark.parametrize("terminal", [False, True])
def test_every_stage_is_reported_once_and_weighed_once(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed: Counter[str] = Counter()

    def weigh(stage: Stage) -> float:
        weighed[stage.key] += 1
        return stage_flops(stage)

    monkeypatch.setattr(live_view, "stage_flops", weigh)
    monkeypatch.setattr(screen, "SECONDS_BETWEEN_DRAWINGS", 0.0)
    text = StringIO()
    track = Watched(simulated.small_table(tmp_path), tmp_path)
    with LiveView(Console(file=text, force_terminal=terminal, width=200), track.store) as view:
        track.view = view
        track.run()
    assert max(weighed.values()) == 1
    lines = [line for line in text.getvalue().splitlines() if "pretrain@" in line and "held-out loss" in line]
    reported_stages = [line.split("] ", 1)[1].split(":")[0] for line in lines]
    assert sorted(reported_stages) == sorted(f"{arm.name}/1 pretrain@2560" for arm in track.experiment.arms)
    assert lines[-1].endswith(" left")


class Watched(simulated.Track):
    """A track that is looked at after every end, several times."""

    view: LiveView

    @cached_property
    def shares(self) -> list[tuple[int, float]]:
        """After each look: the stages in all and the share that is done."""
        return []

    @contextmanager
    def reporter(self, progress: RunProgress) -> Iterator[Callable[[], None]]:
        def report() -> None:
            for _ in range(3):
                self._look(progress)

        self._look(progress)
        yield report
        self._look(progress)

    def _look(self, progress: RunProgress) -> None:
        self.view.watch(progress)
        account = self.view._account
        assert account is not None
        self.shares.append((account.total, account.share([])))


def told_by(track: "Watched", terminal: bool = False, width: int = 200, height: int = 40) -> list[str]:
    """Run the track and return the lines that stay, without those of a drawing."""
    text = StringIO()
    console = Console(file=text, force_terminal=terminal, width=width, height=height, color_system=None)
    with LiveView(console, track.store) as view:
        track.view = view
        track.run()
    return text.getvalue().splitlines()


def test_stages_are_numbered_and_cached_ones_count_as_done(tmp_path: Path) -> None:
    experiment = simulated.small_table(tmp_path)
    killed = Watched(experiment, tmp_path, left=7)
    with pytest.raises(simulated.Killed):
        told_by(killed)
    resumed = told_by(Watched(experiment, tmp_path))
    trials = resumed[next(place for place, line in enumerate(resumed) if line.startswith("trials: ")) :]
    known = int(trials[0].split()[1])
    assert 0 < known < 6
    assert trials[0] == f"trials: {known} of 6 stages cached"
    numbers = [line.split("]")[0].removeprefix("[") for line in trials if line.startswith("[")]
    assert numbers == [f"{number}/11" for number in range(5 + known + 1, 12)]  # after the five shared stages
    again = told_by(Watched(experiment, tmp_path))
    assert not [line for line in again if line.startswith("[")]
    assert [line for line in again if "cached" in line] == [
        "shared by all trials: 5 of 5 stages cached",
        "trials: 6 of 6 stages cached",
    ]
    assert again[-1] == "trials: 3 of 3 ended (3 finished)"


def test_a_stage_takes_the_time_of_all_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_view, "duration", str)

    def left(name: str, earlier: dict[str, float]) -> list[float]:
        """Return the seconds that are left, where each stage took one second after those of a killed process."""
        clock = count()
        monkeypatch.setattr(live_view, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        folder = simulated.folder_of(tmp_path, name)
        document = {"pretraining": {"tokens": 2560, "seeds": [1]}, "fine_tuning": {}}

        def ended(work: StageTask) -> Outcome | Failure:
            outcome = simulated.curve(work)
            assert isinstance(outcome, Outcome)
            is_training = isinstance(work.stage.declaration, PretrainStage)
            return replace(outcome, result={**outcome.result, **earlier}) if is_training else outcome

        told = told_by(Watched(simulated.experiment(folder, **document), folder, ended, workers=1))
        return [float(found[1]) for line in told if (found := re.search(r"; ([\d.]+) left$", line))]

    of_one, of_several = left("one", {}), left("several", {"earlier_seconds": 99.0})
    assert of_several[0] == pytest.approx(100 * of_one[0])
    assert of_one[0] > of_one[-1] == of_several[-1] == 0


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10)])
def test_a_drawing_fits_its_terminal_and_shows_every_arm_if_there_is_room(
    width: int, height: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "SECONDS_BETWEEN_DRAWINGS", 0.0)
    lines = told_by(Watched(simulated.small_table(tmp_path), tmp_path), True, width, height)
    drawn = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in lines]
    reported_stages = re.compile(r"\[\d+/\d+\] |(trials|shared by all trials): ")
    assert max(len(line) for line in drawn if not reported_stages.match(line)) <= width
    assert any("narrow" in line and "✓" in line for line in drawn)
    assert any(re.search(r"100% 11/11 stages", line) for line in drawn)


@pytest.mark.parametrize(
    ("device", "card", "shown"),
    [
        ("cuda", "NVIDIA H200", r"1,000,000 \(\d+% MFU, 1\.5 GiB\)"),
        ("cuda", "another", r"1,000,000 \(1\.5 GiB\)"),
        ("cpu", "NVIDIA H200", "1,000,000"),
    ],
)
def test_a_stage_on_a_gpu_shows_its_use_and_memory(
    device: str, card: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_view, "card", lambda: card)
    learner = small_candidate(MaskedLanguageModel())
    learner = learner.model_copy(update={"recipe": learner.recipe.model_copy(update={"device": device})})
    marks = {"seed": 1, "from_step": 0, "to_step": 9, "evaluation_steps": (9,), "horizon_tokens": None}
    stage = Stage(PretrainStage(candidate=learner, generator=None, **marks))
    peak = None if device == "cpu" else 3 * 2**29
    progress = StageProgress("pretraining", 0.5, 3.0, 1e6, peak)
    *_, last = live_view._cells(StageTask("a/1", "pretrain@9", stage), progress, 1.0)
    assert re.fullmatch(shown, last)


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
