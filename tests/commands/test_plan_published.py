"""plan beside published models: counts, costs, recipes, source encoders, and the sizes of searches."""

import json
from pathlib import Path

import pytest

from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.released.papers import published
from search_space.source_encoder import parameters_with_source_encoder
from steeplechase.commands.planning.costs import source_encoders
from steeplechase.commands.planning.published import lines
from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation.errors import DataError
from steeplechase.tasks.data_folder import HINT, VARIABLE
from tests.factories.command_calls import ROOT, Call
from tests.factories.experiment_files import experiment_of
from tests.factories.paths import EXPERIMENTS

PLANNED = (0, DataError.exit_code)
"""The plan is printed too where a data set is absent, as the exit code says."""


@pytest.mark.parametrize("table", ["table1", "table4"])
def test_plan_at_paper_scale_sets_costs_beside_the_published_ones(call: Call, table: str, tmp_path: Path) -> None:
    file = ROOT / "experiments" / f"{table}.yaml"
    answer = call("plan", file, "--scale", "paper", "--out", tmp_path, "--json")
    assert answer.code in PLANNED, answer.err
    found = json.loads(answer.out)["published"]
    assert found["rows"]
    assert found["fine_tuning"]
    assert all(taught["departures"] == [] for taught in found["fine_tuning"])
    for row in found["rows"]:
        assert row["departures"] == ["precision bfloat16 (float32)"]
        assert row["train_flops"] == pytest.approx(row["published_train_flops"], rel=0.01)
        assert row["parameters"] == row["published_parameters"]
        assert row["source"] in published().sources.values()


def test_plan_tells_how_arms_are_trained_and_what_differs_from_the_papers_with_sources_of_counts(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    answer = call("plan", ROOT / "experiments" / "table2.yaml", "--scale", "paper", "--out", tmp_path)
    text = " ".join(answer.out.split())
    for told in (
        "every arm: 1,000,000 updates of 128 x 128 tokens, peak learning rate 0.0003 after 10,000 updates",
        "training departs from the release in: precision bfloat16 (float32)",
        "fine-tuning departs from the release in: nothing declared",
        "convolution dynamic differs from the paper's: ",
        "assumed: bottleneck ratio 2",
        "12,721,368 our count of our layout 12,721,368",
        "13,143,768 released 13,143,768",
    ):
        assert told in text


def test_common_differences_of_arms_and_tasks_are_reported_once(call: Call, tmp_path: Path) -> None:
    answer = call("plan", ROOT / "experiments" / "table2.yaml", "--scale", "wikipedia", "--out", tmp_path)
    text = " ".join(answer.out.split())
    assert text.count("depth 2 (12)") == 1
    assert text.count("layer rate decay 1.0 (0.8)") == 1
    assert "fine-tuning of rte departs further in: sequence length 64 (128), epochs 3 (10)" in text


def test_plan_shows_every_tasks_settings_and_required_files(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    answer = call("plan", ROOT / "experiments" / "table2.yaml", "--scale", "paper", "--out", tmp_path)
    text = " ".join(answer.out.split())
    assert "fine-tuning of rte: 10 epochs of batches of 32 x 128 tokens, peak learning rate one of 5e-05" in text
    assert "layer-wise learning-rate decay 0.8" in text
    assert "expected: CoLA/train.tsv, CoLA/dev.tsv, from gluebenchmark.com/tasks (CoLA)" in text
    assert "expected: QNLI/train.tsv" in text
    assert text.count(HINT) == 1


def test_plan_tells_the_lengthening_and_that_its_cost_is_left_out(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    answer = call("plan", ROOT / "experiments" / "table4.yaml", "--scale", "paper", "--out", tmp_path)
    text = " ".join(answer.out.split())
    assert "then before tasks of long texts 100,000 updates of 128 x 512, not in the FLOPs" in text
    assert "1.27e18 released 1.27e18, printed 1.3e18" in text


def test_arms_that_are_fine_tuned_otherwise_are_named(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(
        "experiment: f\nquestion: f?\npretraining: { tokens: 1e5, seeds: 1 }\n"
        "baseline: { objective: masked_language_model, recipe: { sequence_length: 32 } }\n"
        "fine_tuning: { tasks: [docs_pair], sequence_length: 64, by_task: { docs_pair: { epochs: 3 } } }\n"
        "design: { kind: list, arms: { a: { fine_tuning.epochs: 2 }, b: { heads: 2 }, "
        "c: { fine_tuning: { epochs: 2 }, heads: 2 } } }\n"
    )
    told = [line for line in lines(load_experiment(tmp_path / "f.yaml", None)) if "docs_pair" in line]
    first, other = (line.partition(" of batches of ") for line in told)
    assert first[0] == "fine-tuning of docs_pair: 3 epochs"
    assert other == ("a, c: fine-tuning of docs_pair: 2 epochs", *first[1:])


FILES = ("albert/table4.yaml", "bert/table6.yaml")


@pytest.mark.parametrize("name", FILES)
def test_a_plan_at_paper_scale_has_the_printed_counts_beside_ours(call: Call, name: str) -> None:
    answer = call("plan", EXPERIMENTS / name, "--scale", "paper", "--json")
    assert answer.code in PLANNED
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


SEARCH = ROOT / "experiments" / "search.yaml"


@pytest.mark.parametrize(
    ("scale", "arms", "repeats"),
    [
        ("smoke", "at most 8 arms (the baseline and up to 7 candidates over ", "drawn again; no seed is added"),
        ("laptop", "at most 24 arms (the baseline and up to 23 candidates over ", "at a further seed, up to 3 seeds"),
    ],
)
def test_the_count_of_arms_and_the_seeds_of_repeats_are_stated(
    call: Call, scale: str, arms: str, repeats: str
) -> None:
    shown = " ".join(call("plan", SEARCH, "--scale", scale).out.split())
    assert arms in shown
    assert repeats in shown


def test_a_line_for_each_different_encoder() -> None:
    experiment = experiment_of("bart/translation.yaml", "paper")
    found = list(source_encoders(experiment))
    assert [line.partition(":")[0] for line in found] == [
        f"source encoder of {task}" for task in ("two_stages", "first_stage", "one_stage")
    ]
    architecture = experiment.baseline.architecture
    assert isinstance(architecture, EncoderDecoderArchitecture)
    encoder = experiment.fine_tuning.by_task["two_stages"].changes["generation"].source_encoder
    whole = parameters_with_source_encoder(architecture, encoder.architecture(architecture, 8000))
    blocks = 6 * (12 * 768**2 + 13 * 768)
    first = (8000 + 3 * 1026) * 768 + 2 * 768 + blocks + 3 * 768**2  # BART's positions twice, and its three matrices
    assert f"80% of the updates train {first:,} of {whole:,} parameters" in found[0]
    assert "; 20% train all (" in found[0]
    assert "100% of the updates" in found[1]
    assert "train all" not in found[1]
    assert "; 100% train all (" in found[2]
