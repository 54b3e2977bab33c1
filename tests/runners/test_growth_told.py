"""What a report and a refusal say of a study that changed after results, and what another folder takes of it."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest

from reports.report import build
from runners.cost_estimate.past_runs import measured_under
from runners.opening import RunRequest, open_ledger
from runners.settings import RunSettings
from runners.stages.pretrain import PretrainStage
from runners.work_queue import Failure, StageTask
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.plugins import Plugin
from steeplechase.configuration.stage_label import PRETRAIN
from steeplechase.foundation.errors import ConflictError
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.example_values import KeptExamples, array_bytes
from steeplechase.ledger.paths import ResultPaths
from steeplechase.ledger.reuse import reuse
from steeplechase.ledger.reused_rows import reused_rows
from steeplechase.ledger.stage_results import ExampleValues
from tests.factories import simulated_training as simulated
from tests.factories.plugins import KIND, MODULE, OPTION, copy_of_example, loaded
from tests.factories.simulated_training import Track, folder_of
from tests.runners.test_growth import ARMS, CONSTANT, Study, baseline, found_in, study


def with_plugin(plugin: Plugin, folder: Path, arms: Mapping[str, object]) -> Experiment:
    folders = [{"path": str(plugin.folder), "sha256": plugin.sha256}]
    return study(folder, design={"kind": "list", "arms": arms}, plugins=folders, tasks=())


def test_an_arm_that_comes_back_with_another_value_is_refused_with_both_values(tmp_path: Path) -> None:
    here = Study(tmp_path)
    here.run(study(tmp_path, ["narrow", "dynamic"]))
    here.run(study(tmp_path, ["dynamic"]))
    other = {"narrow": {"bottleneck_ratio": 4}, "dynamic": ARMS["dynamic"]}
    with pytest.raises(ConflictError) as refused:
        here.run(study(tmp_path, design={"kind": "list", "arms": other}))
    assert "design.narrow.architecture.bottleneck_ratio: 2 there, 4 here" in str(refused.value)
    assert "design.dynamic" not in str(refused.value)


def test_the_report_names_arms_and_claims_that_were_left_out_after_results(tmp_path: Path) -> None:
    here, claims = Study(tmp_path), ["held_out_loss(narrow) < held_out_loss(baseline)"]
    here.run(study(tmp_path, ["narrow", "dynamic"], claims=claims))
    renamed = {"design": {"kind": "list", "arms": {"other": ARMS["narrow"]}}}
    less = build(found_in(here.run(study(tmp_path, **renamed))))
    gone = dict(less.footer)["Left out after results"]
    assert gone.startswith("arm dynamic after at least 6 results (record ")
    assert "; claim held_out_loss(narrow) < held_out_loss(baseline) after at least " in gone
    assert "narrow after" not in gone.partition(";")[0]  # it has another name
    assert "exploratory, since 1 arm was left out after results" in less.finding
    whole = build(found_in(here.run(study(tmp_path, ["narrow", "dynamic"], claims=claims))))
    assert "Left out after results" not in dict(whole.footer)
    assert "left out" not in whole.finding


def test_an_arm_with_another_name_is_as_old_as_its_candidate_and_so_are_its_claims(tmp_path: Path) -> None:
    def version(narrow: str, **more: object) -> Experiment:
        arms = {**more, narrow: ARMS["narrow"]}
        claims = [f"held_out_loss({name}) < held_out_loss(baseline)" for name in arms]
        paper = {"source": "a paper", "statement": "better", "orderings": [f"{narrow} > baseline"]}
        return study(tmp_path, design={"kind": "list", "arms": arms}, claims=claims, paper=paper, tasks=())

    here = Study(tmp_path)
    here.run(version("narrow"))
    renamed = dict(build(found_in(here.run(version("other")))).footer)
    assert not {"Added after results", "Left out after results"} & renamed.keys()
    footer = dict(build(found_in(here.run(version("other", dynamic=ARMS["dynamic"])))).footer)
    assert footer["Added after results"].startswith("arm dynamic after at least 4 results (record ")
    assert footer["Added after results"].count("claim ") == 1
    assert "Left out after results" not in footer


def test_an_arm_in_the_place_of_one_that_is_hidden_was_added_after_its_results(tmp_path: Path) -> None:
    here = Study(tmp_path)
    here.run(study(tmp_path, ["narrow", "dynamic"], tasks=()))
    found = found_in(here.run(study(tmp_path, ["long"], tasks=())))
    (late,) = (arm for arm in found.arms if arm.after_record)
    assert late.after_record == found.amendments[0].after_record
    assert (
        f"(record {late.after_record}, {found.amendments[0].moment})"
        in dict(build(found).footer)["Added after results"]
    )


@pytest.mark.parametrize("hidden", [False, True])
def test_a_changed_file_of_a_plugin_is_named_once_in_place_of_digests(tmp_path: Path, hidden: bool) -> None:
    here, plugin = Study(tmp_path), copy_of_example(tmp_path / "plugin")
    arms = {"one": {"convolution": {"kind": KIND}}, "two": {"convolution": {"kind": KIND}, "bottleneck_ratio": 2}}
    with loaded(plugin) as before:
        here.run(with_plugin(before, tmp_path, arms))
    if hidden:
        here.run(study(tmp_path, ["narrow"], tasks=()))
    kinds = {each.kind for each in measured_under(tmp_path, ArtifactStore(tmp_path / "stages"))}
    assert PRETRAIN in kinds  # of the arms whose costs need no plugin
    (plugin / MODULE).write_text((plugin / MODULE).read_text() + "# changed\n")
    with loaded(plugin) as changed, pytest.raises(ConflictError) as refused:
        here.run(with_plugin(changed, tmp_path, arms))
    (line,) = (line.strip() for line in refused.value.lines if "has changed" in line)
    assert line == f"the code of the plugin has changed: {plugin / MODULE}; to go on here, restore it"
    assert " there, " not in str(refused.value)


def test_a_renamed_field_of_a_plugin_is_a_change_of_its_file_and_no_damage(tmp_path: Path) -> None:
    here, plugin = Study(tmp_path), copy_of_example(tmp_path / "plugin")
    with loaded(plugin) as before:
        here.run(with_plugin(before, tmp_path, {"far": {"convolution": {"kind": KIND, "dilation": 1}}}))
    (plugin / OPTION).write_text((plugin / OPTION).read_text().replace("dilation", "gap"))
    field = rf"architecture\.convolution\.{KIND}\.dilation"
    with loaded(plugin) as changed:
        with pytest.raises(ConflictError, match=rf"{plugin / OPTION}: has other fields than arm far .*: {field}"):
            here.run(with_plugin(changed, tmp_path, {"far": {"convolution": {"kind": KIND, "gap": 1}}}))
        assert measured_under(tmp_path, ArtifactStore(tmp_path / "stages")) == ()


def test_a_changed_table_and_another_library_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, file = Study(tmp_path), tmp_path / "rows.csv"
    own = {"kind": "table", "train": str(file), "dev_share": 0.25, "columns": {"text": "text", "label": "label"}}
    rows = [f"the {word} {number},{word}" for number in range(20) for word in ("good", "bad")]
    tuning = {"tasks": ["rows"], "seeds": [1], "sequence_length": 16, "own_tasks": {"rows": own}}
    file.write_text("\n".join(["text,label", *rows]))
    here.run(study(tmp_path, fine_tuning=tuning))
    file.write_text("\n".join(["text,label", *rows[1:]]))
    with pytest.raises(
        ConflictError, match=r"examples rows.*: .*rows\.csv has changed since; to go on here, restore"
    ):
        here.run(study(tmp_path, fine_tuning=tuning))
    file.write_text("\n".join(["text,label", *rows]))
    monkeypatch.setattr("runners.stages.stage.installed_version", lambda name: "0.1")
    monkeypatch.setattr("runners.changed_files.installed_version", lambda name: "0.1")
    with pytest.raises(ConflictError, match=r"tokens: of other library versions: tokenizers .* there, 0\.1"):
        here.run(study(tmp_path, fine_tuning=tuning))


LOSSES = array_bytes(np.ones((1, 8), np.float32))
DESCRIBED = {"sha256": sha256(LOSSES).hexdigest(), "metrics": ["held_out_loss"], "examples": 8}


def with_losses(work: StageTask) -> Outcome | Failure:
    """Return the outcome of a stage, of a pretraining with the losses of single predictions."""
    end = simulated.curve(work)
    if isinstance(end, Outcome) and isinstance(work.stage.declaration, PretrainStage):
        return replace(end, result={**end.result, "held_out_losses": DESCRIBED})
    return end


def keep_losses(results: Path) -> None:
    own = KeptExamples(results).own(ExampleValues.model_validate(DESCRIBED))
    own.parent.mkdir(exist_ok=True)
    own.write_bytes(LOSSES)


def test_rows_that_a_folder_hides_are_not_taken_over_without_the_values_of_their_examples(tmp_path: Path) -> None:
    """Else the run that takes them has intervals that it cannot compute, and ends without a report."""
    source, keys = tmp_path / "results", dict[str, set[str]]()
    for arms in (["narrow", "dynamic"], ["dynamic"]):
        version = study(tmp_path, arms)
        with open_ledger(RunRequest(version, "whole", ResultPaths.of(source), RunSettings(workers=1))):
            pass
        run = Track(version, source, with_losses).run()
        keys |= {h.trial.arm: {each.key for each in h.records if each.stage == "pretrain"} for h in run.histories}
    keep_losses(source)
    with closing(Ledger(tmp_path / "other.sqlite")) as ledger:
        reuse(ledger, tmp_path / "other", [source])
        taken = reused_rows(tmp_path / "other", ledger)
    assert {arm for arm, those in keys.items() if all(map(taken.find, those))} == {"baseline", "dynamic"}
    assert not any(map(taken.find, keys["narrow"]))


def test_a_shorter_budget_takes_no_training_whose_losses_are_those_of_the_longer_one(tmp_path: Path) -> None:
    """Of a trial an export has the losses at its end alone; they are no interval of an earlier checkpoint."""
    parts = {"baseline": baseline(schedule=CONSTANT["schedule"]), "tasks": ()}
    long = study(tmp_path, ["narrow"], pretraining={"tokens": 5120, "seeds": [1], "checkpoints": [2560]}, **parts)
    source = Track(long, folder_of(tmp_path, "long"), with_losses)
    source.run()
    keep_losses(source.folder)
    rmtree(source.store.root)
    again = Track(long, folder_of(tmp_path, "again"), with_losses, reuse=(source.folder,))
    short = study(tmp_path, ["narrow"], pretraining={"tokens": 2560, "seeds": [1]}, **parts)
    shorter = Track(short, folder_of(tmp_path, "short"), with_losses, reuse=(source.folder,))
    of_trials = [
        {record.key for history in track.run().histories for record in history.records} for track in (again, shorter)
    ]
    assert of_trials[1] <= of_trials[0]  # the same trainings
    assert not of_trials[0] & {*again.computed}
    assert of_trials[1] <= {*shorter.computed}
