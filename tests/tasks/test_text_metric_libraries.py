"""Without the extra `texts` a task whose targets are texts is refused before anything is trained."""

import pytest

from foundation.errors import MachineError
from tasks import text_metrics
from tasks.text_metrics import LIBRARIES, MODULES, refuse_missing_libraries, text_scores


def test_every_library_is_known_and_exact_match_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(MODULES) < set(LIBRARIES.values())
    monkeypatch.setattr(text_metrics, "find_spec", lambda name: None)
    refuse_missing_libraries(["exact_match"])


@pytest.mark.parametrize("metric", [metric for metric, file in LIBRARIES.items() if file in MODULES])
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_metrics, "find_spec", lambda name: None)
    for call in (lambda: refuse_missing_libraries([metric]), lambda: text_scores([metric], ["a"], ["a"])):
        with pytest.raises(MachineError, match=rf"{metric}: needs the extra `texts`; run: pip install"):
            call()
