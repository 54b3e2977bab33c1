"""Supersenses need a lexicon, entity replacement needs mentions: refused before anything is read."""

from pathlib import Path

import pytest

from configuration.loading import load_experiment
from foundation.errors import ConfigurationError, DataError
from runners.dag import shared_stages
from runners.missing_data import refuse_missing, refuse_other_lexicon
from tests.factories.paths import EXPERIMENTS

SENSES, ENTITIES = EXPERIMENTS / "sensebert/supersenses.yaml", EXPERIMENTS / "wklm/table6.yaml"


def without(file: Path, section: str, folder: Path) -> Path:
    """Write the experiment without the lines of a section of that name."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if f"{section}: {{" not in line]
    (folder / file.name).write_text("\n".join(lines), encoding="utf-8")
    return folder / file.name


@pytest.mark.parametrize(
    ("file", "section", "message"),
    [
        (SENSES, "lexicon", "supersenses of input, senses, no_preference need the experiment's lexicon"),
        (ENTITIES, "mentions", "entity_replacement needs the experiment's mentions"),
    ],
)
def test_an_arm_without_its_resource_is_one_line(file: Path, section: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load_experiment(without(file, section, tmp_path), "smoke")
    assert len(refusal.value.lines) == 1
    assert message in refusal.value.lines[0]


def test_a_missing_resource_is_named_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file, name in ((SENSES, "miniature_lexicon.tsv"), (ENTITIES, "miniature_gazetteer.tsv")):
        with pytest.raises(DataError, match=f"{name}: no such file"):
            refuse_missing(load_experiment(file, "smoke"))


def test_an_untrained_encoder_with_supersenses_reads_those_of_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXPERIMENTS.parent)
    experiment = load_experiment(SENSES, "smoke")
    senses = next(arm.candidate for arm in experiment.arms if arm.name == "input")
    for baseline, inputs in ((experiment.baseline, []), (senses, ["tokens"])):
        stages = shared_stages(experiment.model_copy(update={"baseline": baseline})).untrained.values()
        assert [[*stage.inputs] for stage in stages if stage.kind == "untrained"] == [inputs]


def test_a_lexicon_with_another_number_of_supersenses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXPERIMENTS.parent)
    experiment = load_experiment(SENSES, "smoke")
    refuse_other_lexicon(experiment)
    assert experiment.lexicon is not None
    (tmp_path / "small.tsv").write_text("water\tnoun.substance\n")
    lexicon = experiment.lexicon.model_copy(update={"path": str(tmp_path / "small.tsv")})
    with pytest.raises(DataError, match=r"small.tsv: 1 supersenses; the architecture has supersenses: 45"):
        refuse_other_lexicon(experiment.model_copy(update={"lexicon": lexicon}))
