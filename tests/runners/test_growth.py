"""A study grows and shrinks in one results folder: the table is that of one run, and no stage is computed twice."""

from contextlib import closing
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reports.formats.csv import render
from reports.pair_report import pairs_of
from reports.report import build
from runners.opening import RunRequest, open_ledger
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.errors import ConfigurationError, ConflictError, MachineError
from steeplechase.ledger.checkpoints import pretrained_trial
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.snapshot import Snapshot
from steeplechase.ledger.stage_results import FineTuneResult
from tests.factories.grown_studies import ARMS, TASKS, Study, study
from tests.factories.plugins import loaded
from tests.factories.simulated_training import ARCHITECTURE, RECIPE

CONSTANT = {**RECIPE, "schedule": {"kind": "constant", "warmup_tokens": 64}}
"""A schedule that does not depend on the budget."""


def found_in(run: Snapshot | None) -> Snapshot:
    assert run is not None
    return run


def table(found: Snapshot | None) -> str:
    return render(build(found_in(found)))


def parts_of(names: tuple[Any, ...], least: int = 1) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(names), min_size=least, unique=True)


VERSIONS = st.tuples(parts_of((*ARMS,)), parts_of((1, 2, 3)), parts_of(TASKS, 0), st.none() | st.integers(0, 12))


FINAL: dict[str, Any] = {"arms": ("long", "narrow", "dynamic"), "seeds": (2, 1, 3)}


@pytest.fixture(scope="module")
def of_one_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """Return the table of the final study in one run, and the keys of its stages."""
    whole = Study(tmp_path_factory.mktemp("whole"))
    return table(whole.run(study(whole.folder, **FINAL))), whole.computed


@settings(max_examples=2)
@example(edits=[(["dynamic"], [2], [], None), (["narrow", "dynamic"], [1, 2], ["docs_pair"], 3)])
@example(edits=[([*ARMS], [1, 2, 3], [*TASKS], None), (["narrow"], [3], [], None)])
@given(edits=st.lists(VERSIONS, min_size=1, max_size=3))
def test_a_study_that_grew_in_any_order_has_the_table_of_one_run_and_computes_nothing_twice(
    of_one_run: tuple[str, list[str]], edits: Any
) -> None:
    with TemporaryDirectory() as temporary:
        grown = Study(Path(temporary) / "grown")
        for arms, seeds, tasks, killed_after in edits:
            grown.run(study(grown.folder, arms, seeds, tasks), killed_after)
        of_final, computed = of_one_run
        assert table(grown.run(study(grown.folder, **FINAL))) == of_final
        assert len(grown.computed) == len({*grown.computed})
        assert {*computed} <= {*grown.computed}


def test_what_is_left_out_is_hidden_and_comes_back_without_computing(tmp_path: Path) -> None:
    here = Study(tmp_path)
    first = table(here.run(study(tmp_path)))
    count = len(here.computed)
    less = here.run(study(tmp_path, ["narrow"], [2], ["docs_pair"]))
    assert less is not None
    assert [arm.name for arm in less.arms] == ["baseline", "narrow"]
    assert {history.trial.name for history in less.histories} == {"baseline/2", "narrow/2"}
    assert {record.label for history in less.histories for record in history.records} == {
        "pretrain@2560",
        "docs_pair#1",
    }
    assert "docs_acceptability" not in table(less)
    with pytest.raises(ConfigurationError) as unknown:
        pairs_of(less, {}, ["narrow", "long"])
    with pytest.raises(ConfigurationError) as without_seed:
        pretrained_trial(tmp_path / "results", "narrow/1")
    for refused, name in ((unknown, "long"), (without_seed, "narrow/1")):
        assert f"{name} is hidden: the experiment as it was last run leaves it out" in str(refused.value)
    assert table(here.run(study(tmp_path))) == first
    assert len(here.computed) == count


def baseline(**recipe: Any) -> dict[str, Any]:
    return {
        "architecture": ARCHITECTURE,
        "objective": {"kind": "masked_language_model"},
        "recipe": {**RECIPE, **recipe},
    }


FINE_TUNING = {"tasks": ["docs_pair"], "seeds": [1], "sequence_length": 16}
OTHER_NUMBERS: dict[str, tuple[dict[str, Any], str]] = {
    "recipe": ({"baseline": baseline(dropout=0.3)}, "baseline.recipe.dropout: the default there, 0.3 here"),
    "a value of an arm": (
        {"design": {"kind": "list", "arms": {"narrow": {"bottleneck_ratio": 4}}}},
        "design.narrow.architecture.bottleneck_ratio: 2 there, 4 here",
    ),
    "budget of a schedule that decays": (
        {"pretraining": {"tokens": 5120, "seeds": [1, 2]}, "fine_tuning": {}},
        "pretrain@2560 of baseline/1",
    ),
    "a search of the same name": (
        {
            "design": {"kind": "search", "space": {"bottleneck_ratio": [1, 2, 4]}, "max_candidates": 4},
            "pretraining": {"tokens": 2560, "seeds": [1]},
        },
        "design.max_candidates: the default there, 4 here",
    ),
    "another name": ({"experiment": "renamed"}, 'experiment: "simulated" there, "renamed" here'),
    "seeds that other looks ask for": (
        {
            "pretraining": {
                "tokens": 2560,
                "seeds": {"until_decided": {"start": 2, "max": 4, "margin": {"held_out_loss": 0.1}}},
            }
        },
        "pretraining.seeds: trials at seed 3 are there, which until_decided adds at its looks alone",
    ),
}


@pytest.mark.parametrize(("parts", "reason"), OTHER_NUMBERS.values(), ids=[*OTHER_NUMBERS])
def test_what_would_change_a_finished_number_is_refused_with_two_remedies(
    tmp_path: Path, parts: dict[str, Any], reason: str
) -> None:
    here = Study(tmp_path)
    here.run(study(tmp_path, ["narrow"], [1, 2, 3], ["docs_pair"]))
    with closing(Ledger.at(tmp_path / "results")) as ledger:
        before = ledger.facts()
    request = RunRequest(
        study(tmp_path, ["narrow", "long"], [1, 2], ["docs_pair"], **parts),
        "whole",
        ResultPaths.of(tmp_path / "results"),
        command="steeplechase run mine.yaml",
    )
    with pytest.raises(ConflictError) as refused, open_ledger(request):
        pass
    first, *reasons, other, same = refused.value.lines
    assert "another experiment's results; nothing was changed" in first
    assert any(reason in line for line in reasons), reasons
    assert not any("long" in line for line in reasons)  # an added arm is no reason
    assert other.endswith(f"steeplechase run mine.yaml --out {tmp_path}/results-2 --reuse {tmp_path}/results")
    assert same.endswith("give what differs its value there; arms, seeds and tasks may be added and left out")
    with closing(Ledger.at(tmp_path / "results")) as ledger:
        assert ledger.facts() == before


def test_other_looks_at_sequential_seeds_are_refused_with_both_values(tmp_path: Path) -> None:
    def version(most: int) -> Experiment:
        until = {"start": 2, "max": most, "margin": {"held_out_loss": 0.01}}
        return study(tmp_path, ["narrow"], {"until_decided": until}, ())

    here = Study(tmp_path)
    here.run(version(4))
    with pytest.raises(ConflictError) as refused:
        here.run(version(6))
    assert refused.value.lines[1] == "  pretraining.seeds.until_decided.max: 4 there, 6 here"
    assert "trials at seed 3, 4 are there, which until_decided adds at its looks alone" in refused.value.lines[2]


def test_a_longer_budget_may_follow_where_the_schedule_does_not_depend_on_it(tmp_path: Path) -> None:
    here, parts = Study(tmp_path), {"baseline": {**baseline(), "recipe": CONSTANT}, "tasks": ()}
    first = table(here.run(study(tmp_path, **parts)))
    longer = here.run(study(tmp_path, **parts, pretraining={"tokens": 5120, "seeds": [1, 2]}))
    assert longer is not None
    assert {record.label for history in longer.histories for record in history.records} == {"pretrain@5120"}
    assert table(here.run(study(tmp_path, **parts))) == first


def test_a_folder_in_which_no_trial_has_ended_is_taken_over(tmp_path: Path) -> None:
    here = Study(tmp_path)
    assert here.run(study(tmp_path), killed_after=9) is None
    other = study(tmp_path, baseline=baseline(dropout=0.3))
    found, apart = here.run(other), Study(tmp_path / "apart").run(other)
    assert table(found) == table(apart)
    (warning,) = here.warnings
    assert "no trial of the experiment in it had ended; begun anew" in warning
    assert (tmp_path / "results" / "ledger.former-1.sqlite").is_file()


METRIC = """
def agreed(references, predictions):
    return {scale} * sum(a == b for a, b in zip(references, predictions)) / len(references)
"""


def test_a_metric_that_is_added_edited_or_removed_covers_every_finished_trial(tmp_path: Path) -> None:
    here, tasks, file = Study(tmp_path), ["docs_pair"], tmp_path / "plugin" / "tasks" / "own_metrics" / "mine.py"
    file.parent.mkdir(parents=True)

    def version(seeds: list[int], metric: bool = True, where: Study = here) -> Snapshot | None:
        tuning = {**FINE_TUNING, **({"metrics": {"docs_pair": ["mine:agreed"]}} if metric else {})}
        return where.run(study(tmp_path, ["narrow"], seeds, tasks, fine_tuning=tuning))

    version([1], metric=False)
    for scale, seeds in ((100, [1, 2]), (50, [1, 2])):
        file.write_text(METRIC.format(scale=scale))
        with loaded(tmp_path / "plugin"):
            part = study(tmp_path, ["narrow"], seeds, tasks, fine_tuning={**FINE_TUNING, "metrics": {}})
            here.run(part, killed_after=1)
            computed = len(here.computed)
            found = version(seeds)
            assert found is not None
            assert len({record.label for history in found.histories for record in history.records}) == 2
            scores = [
                record.result.scores
                for history in found.histories
                for record in history.records
                if isinstance(record.result, FineTuneResult)
            ]
            assert [each["agreed"] for each in scores] == pytest.approx(
                [scale * each["accuracy"] / 100 for each in scores]
            )
            assert len(scores) == 2 * len(seeds)
            assert len(here.computed) - computed <= (6 if scale == 100 else 0)  # those of the added seed alone
            assert table(found) == table(version(seeds, where=Study(tmp_path / f"apart{scale}")))
    assert "agreed" not in table(version([1, 2], metric=False))


UNDEFINED = """
def agreed(references, predictions):
    hits = [a == b for a, b in zip(references, predictions)]
    return {"always": 100.0 * sum(hits) / len(hits), "first": float("nan") if hits[0] else 1.0}
"""


FAILING = """
def agreed(references, predictions):
    hits = [a == b for a, b in zip(references, predictions)]
    return 100.0 * sum(hits) / (0 if len(hits) > 4 and hits[0] else len(hits))
"""
GIVES_NAN = "agreed.first has no value: the function gives NaN for the predictions"
FAILS = "agreed has no value: the function fails for the predictions (mine:agreed: ZeroDivisionError"


@pytest.mark.parametrize(("source", "said"), [(UNDEFINED, GIVES_NAN), (FAILING, FAILS)])
def test_a_metric_without_a_value_for_some_predictions_has_none_there_and_the_run_goes_on(
    tmp_path: Path, source: str, said: str
) -> None:
    here, file = Study(tmp_path), tmp_path / "plugin" / "tasks" / "own_metrics" / "mine.py"
    file.parent.mkdir(parents=True)
    file.write_text(source)
    tuning = {**FINE_TUNING, "metrics": {"docs_pair": ["mine:agreed"]}}
    with loaded(tmp_path / "plugin"):
        found = here.run(study(tmp_path, ["narrow", "dynamic"], [1, 2, 3], ["docs_pair"], fine_tuning=tuning))
    assert found is not None
    records = (record.result for history in found.histories for record in history.records)
    results = [each for each in records if isinstance(each, FineTuneResult)]
    (name,) = {name for each in results for name in each.without_value or {}}
    undefined = [each for each in results if name not in each.scores]
    assert 0 < len(undefined) < len(results)
    assert all((each.without_value or {}).keys() == {name} for each in undefined)
    assert source == FAILING or all("agreed.always" in each.scores for each in results)
    assert said in build(found).finding
    assert f", in {len(undefined)} of" in build(found).finding


def test_a_metric_is_refused_where_predictions_of_finished_trials_are_gone(tmp_path: Path) -> None:
    here, file = Study(tmp_path), tmp_path / "plugin" / "tasks" / "own_metrics" / "mine.py"
    here.run(study(tmp_path, ["narrow"], [1], ["docs_pair"]))
    file.parent.mkdir(parents=True)
    file.write_text(METRIC.format(scale=100))
    for folder in (tmp_path / "results" / "stages").glob("fine_tune*/*"):
        rmtree(folder)
    tuning = {**FINE_TUNING, "metrics": {"docs_pair": ["mine:agreed"]}}
    with loaded(tmp_path / "plugin"), pytest.raises(MachineError, match="cannot be computed for all"):
        here.run(study(tmp_path, ["narrow"], [1], ["docs_pair"], fine_tuning=tuning))
