"""`plan` of the experiments in sub-folders: the counts that papers print are beside ours."""

import json

import pytest

from configuration.loading import load_experiment
from search_space.released.papers import published
from tests.factories.command_calls import Call
from tests.factories.paths import EXPERIMENTS

FILES = ("albert/table4.yaml", "bert/table6.yaml", "roberta/table2.yaml", "schubert/ladder.yaml")


@pytest.mark.parametrize("name", FILES)
def test_a_plan_at_paper_scale_has_the_printed_counts_beside_ours(call: Call, name: str) -> None:
    answer = call("plan", EXPERIMENTS / name, "--scale", "paper", "--json")
    assert answer.code == 0
    experiment, document = load_experiment(EXPERIMENTS / name, "paper"), json.loads(answer.out)
    assert experiment.paper is not None
    assert experiment.paper.table is not None
    rows = published().tables[experiment.paper.table].rows
    compared = {each["arm"]: each for each in document["published"]["rows"]}
    assert compared.keys() == experiment.paper.rows.keys()
    for arm in experiment.arms:
        each, row = compared[arm.name], rows[experiment.paper.rows[arm.name]]
        assert each["parameters"] == arm.candidate.architecture.parameters
        assert each["printed_parameters"] == row.printed_parameters
        assert each["published_values"] == row.values
    text = call("plan", EXPERIMENTS / name, "--scale", "paper").out
    assert "fine-tuning departs" not in text  # from ConvBERT's release, which is not the paper's
    for arm in experiment.arms:
        printed = rows[experiment.paper.rows[arm.name]].printed_parameters
        assert printed is None or f"printed {printed}" in text
        assert all(f"{value}" in text for value in rows[experiment.paper.rows[arm.name]].values.values())


def test_a_file_of_a_sub_folder_is_suggested(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXPERIMENTS.parent)
    answer = call("plan", "experiments/albert/tabel4.yaml")
    assert answer.code == 5
    assert "Did you mean experiments/albert/table4.yaml?" in answer.err
