"""Lines of `plan` on new source encoders: their parameters and FLOPs with the baseline's architecture."""

from collections.abc import Iterator

from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.source_encoder import first_stage_parameters_count, parameters_with_source_encoder, update_flops
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import settings_of
from steeplechase.configuration.source_encoder import SourceEncoder


def lines(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each different encoder, with the tasks that have it."""
    tuning, architecture = experiment.fine_tuning, experiment.baseline.architecture
    if not isinstance(architecture, EncoderDecoderArchitecture):
        return
    tasks_of: dict[tuple[SourceEncoder, int], list[str]] = {}
    for task in tuning.tasks:
        settings = settings_of(tuning, task)
        encoder = settings.generation.source_encoder
        if encoder is not None and tuning.find(task).form == "text_pair":
            tasks_of.setdefault((encoder, settings.sequence_length), []).append(task)
    for (encoder, length), tasks in tasks_of.items():
        yield f"source encoder of {', '.join(tasks)}: {_costs(encoder, architecture, length)}"


def _costs(encoder: SourceEncoder, architecture: EncoderDecoderArchitecture, length: int) -> str:
    own, share = encoder.vocabulary_size, encoder.first_stage_share
    source = encoder.architecture(architecture, own or architecture.vocabulary_size)
    vocabulary = "the vocabulary of pretraining" if own is None else f"a vocabulary of {own:,} of its own"
    whole = parameters_with_source_encoder(architecture, source)
    first = first_stage_parameters_count(architecture, source)
    flops = [update_flops(architecture, source, length, first_stage=stage) for stage in (True, False)]
    stages = [
        f"{share:.0%} of the updates train {first:,} of {whole:,} parameters ({flops[0]:.2e} FLOPs per pair)",
        f"{1 - share:.0%} train all ({flops[1]:.2e})",
    ]
    trained = "; ".join(stage for stage, part in zip(stages, (share, 1 - share), strict=True) if part)
    return f"depth {encoder.depth}, {source.parameters:,} parameters, {vocabulary}; {trained}"
