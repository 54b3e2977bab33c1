"""What is told while an experiment runs: a line per stage with the time left, and little work behind it."""

from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import simulated
from rich.console import Console

from commands.views import live_view, screen
from commands.views.live_view import LiveView
from runners.driving.effort import effort
from runners.stages.stage import Stage


@pytest.mark.parametrize("terminal", [False, True])
def test_every_stage_is_told_once_and_weighed_once(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed: Counter[str] = Counter()

    def weigh(stage: Stage) -> float:
        weighed[stage.key] += 1
        return effort(stage)

    monkeypatch.setattr(live_view, "effort", weigh)
    monkeypatch.setattr(screen, "SECONDS_BETWEEN_DRAWINGS", 0.0)
    text = StringIO()
    track = Watched(simulated.small_table(tmp_path), tmp_path)
    with LiveView(Console(file=text, force_terminal=terminal, width=200), track.store) as view:
        track.view = view
        track.run()
    assert max(weighed.values()) == 1
    lines = [line for line in text.getvalue().splitlines() if "pretrain@" in line and "held-out loss" in line]
    told = [line.split("] ", 1)[1].split(":")[0] for line in lines]
    assert sorted(told) == sorted(f"{arm.name}/1 pretrain@2560" for arm in track.experiment.arms)
    assert lines[-1].endswith(" left")


class Watched(simulated.Track):
    """A track whose agenda is looked at after every end, several times."""

    view: LiveView

    def work_off(self, agenda: Any) -> None:
        finish = agenda.finish

        def finish_and_look(*end: Any) -> None:
            finish(*end)
            for _ in range(3):
                self.view.watch(agenda)

        agenda.finish = finish_and_look
        super().work_off(agenda)
