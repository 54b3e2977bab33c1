"""Lines of `plan` on costs: pretraining FLOPs with the hours on some GPUs, and new source encoders.

Peaks of dense matrix products: NVIDIA's data sheets of A100 (SXM), H100 (SXM) and GeForce RTX 4090. PyTorch's float32
is without TF32, its default.
"""

from collections.abc import Iterator

from reports.number_format import scientific
from runners.plan import Plan, candidates_like
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.source_encoder import first_stage_parameters_count, parameters_with_source_encoder, update_flops
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import settings_of
from steeplechase.configuration.text_generation import SourceEncoder

FROM_FLOPS = 1e16  # minutes of a GPU
UTILISATION = 0.3
PEAKS = {
    "A100": {"bfloat16": 312e12, "float32": 19.5e12},
    "H100": {"bfloat16": 989e12, "float32": 67e12},
    "RTX 4090": {"bfloat16": 165e12, "float32": 82.6e12},
}
"""FLOP/s by precision."""


def gpu_hours(experiment: Experiment, plan: Plan) -> Iterator[str]:
    """Yield the line of the plan's pretraining FLOPs, with hours on GPUs; none of an experiment for a laptop."""
    seeds, _ = plan.values_per_cell
    total: float = seeds * sum(row.train_flops * candidates_like(experiment, row.arm) for row in plan.arms)
    total += 0 if plan.tuning is None else plan.tuning.train_flops
    if total < FROM_FLOPS:
        return
    hours = {
        card: [
            f"{_hours(total / (UTILISATION * peak))} in {precision} ({peak / 1e12:,g} TFLOP/s)"
            for precision, peak in peaks.items()
        ]
        for card, peaks in PEAKS.items()
    }
    cards = "; ".join(f"{card} {', '.join(each)}" for card, each in hours.items())
    flops = f"pretraining: {scientific(round(total))} FLOPs in all, in {experiment.baseline.recipe.precision}"
    yield (
        f"{flops}. Hours at {UTILISATION:.0%} of the peak: {cards}. Small models reach less, and fine-tuning is not "
        "counted"
    )


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.2g}" if seconds < 360_000 else f"{seconds / 3600:,.0f}"


def source_encoders(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each different source encoder, its costs with the baseline, and the tasks that have it."""
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
        yield f"source encoder of {', '.join(tasks)}: {_encoder_costs(encoder, architecture, length)}"


def _encoder_costs(encoder: SourceEncoder, architecture: EncoderDecoderArchitecture, length: int) -> str:
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
