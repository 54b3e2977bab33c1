"""`plan` prints the costs of new source encoders, in closed form, with the tasks that have them."""

from commands.planning.plan_source_encoders import lines
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.source_encoder import parameters_with_source_encoder
from tests.factories.experiment_files import experiment_of


def test_a_line_for_each_different_encoder() -> None:
    experiment = experiment_of("bart/translation.yaml", "paper")
    found = list(lines(experiment))
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


def test_nothing_is_printed_without_an_encoder() -> None:
    assert not list(lines(experiment_of("bart/table1.yaml", "paper")))
