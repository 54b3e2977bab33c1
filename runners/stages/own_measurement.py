"""Measures a trained encoder by a function of a user's own, on held-out sequences."""

from __future__ import annotations

from math import isnan
from typing import ClassVar, Self

from runners.stages.context import StageContext
from runners.stages.evaluation_set import held_out_sequences
from runners.stages.stage import MeasurementStage
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.own_measurement import OwnMeasurement
from steeplechase.foundation.devices import Device
from steeplechase.foundation.errors import DataError
from steeplechase.foundation.schema import Count, JsonValue, Name
from steeplechase.tasks.own_measurements import PACKAGE
from steeplechase.tasks.own_metrics import FunctionReference, function_of, module_of, own_numbers


class OwnMeasurementStage(MeasurementStage):
    """Measure a pretrained encoder by a function. Reads `pretrained` and `tokens`."""

    stage: ClassVar[str] = "own_measurement"
    code_version: ClassVar[int] = 1
    architecture: Architecture
    name: Name
    """The function's name in the experiment."""
    function: FunctionReference
    length: Count
    """Tokens of a sequence, [CLS] and [SEP] included."""
    sequences: Count
    device: Device = "cpu"

    @property
    def metric_modules(self) -> tuple[str, ...]:
        """The module of the function, whose source enters the key."""
        return (module_of(self.function, PACKAGE),)

    @classmethod
    def of(cls, experiment: Experiment, candidate: Candidate, name: str | None, seed: int) -> Self:
        """Return what is measured of a candidate: at the baseline's sequence length, so that arms are compared."""
        measure = experiment.measure.settings(OwnMeasurement)
        assert measure is not None
        assert name is not None
        return cls(
            architecture=candidate.architecture,
            name=name,
            function=measure.functions[name],
            length=experiment.baseline.recipe.sequence_length,
            sequences=measure.sequences,
            device=candidate.recipe.device,
        )

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Return the numbers of the function by name, without those that are NaN: this encoder leaves them undefined.

        Raises what the function raised, or ValueError for anything but numbers: that trial fails, and others go on.
        """
        import torch

        from runners.training.pretrained import read_encoder

        encoder = read_encoder(context.inputs["pretrained"], self.architecture, self.device).eval()
        rows = held_out_sequences("measure.own.sequences", self.sequences, self.length, context)
        function, tokens = function_of(self.function, PACKAGE), torch.from_numpy(rows).to(encoder.device)
        try:
            with torch.no_grad():
                found = own_numbers(self.function, function, encoder, tokens, may_be_undefined=True)
        except DataError as refusal:
            raise refusal.__cause__ or ValueError(refusal.lines[0]) from None
        return {"name": self.name, "values": {name: value for name, value in found.items() if not isnan(value)}}
