"""`measure:`, descriptive measurements of the arms beyond losses and scores; a file has one, with its result."""

from pydantic import Field

from steeplechase.configuration.measurements.attention import AttentionDiagonal
from steeplechase.configuration.measurements.latency import Latency
from steeplechase.configuration.measurements.measurement import Measurement
from steeplechase.configuration.measurements.own_measurement import OwnMeasurement
from steeplechase.configuration.measurements.perplexity import Perplexity
from steeplechase.configuration.measurements.rare_words import WordMimicry
from steeplechase.foundation.schema import Schema


class Measures(Schema):
    """Measurements by name; only those that are set are made."""

    attention_diagonal: AttentionDiagonal | None = Field(default=None, examples=[{"within": 4}])
    """Diagonal concentration of attention, as in ConvBERT's Table 8; null to skip it."""
    rare_words: WordMimicry | None = Field(default=None, examples=[{"variants": {"add": {"variant": "add"}}}])
    """Embeddings of rare words from form and contexts, as in BERTRAM; null to skip it."""
    perplexity: Perplexity | None = Field(default=None, examples=[{"texts": {"notes": {"path": "notes.txt"}}}])
    """Perplexity and bits per character of texts, of arms that pretrain as language models; null to skip it."""
    own: OwnMeasurement | None = Field(default=None, examples=[{"functions": {"rank": "geometry:effective_rank"}}])
    """Numbers that functions of your own give for every trained encoder; null to skip it."""
    latency: Latency | None = Field(default=None, examples=[{"lengths": [64, 128, 256]}])
    """Seconds of one part of every arm's architecture at several sequence lengths; null to skip it."""

    @property
    def declared(self) -> dict[str, Measurement]:
        """The measurements that are set, by name."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def of_trials(self) -> tuple[Measurement, ...]:
        """The declared measurements of each trained model."""
        return tuple(each for each in self.declared.values() if each.of_trials)

    @property
    def of_arms(self) -> tuple[Measurement, ...]:
        """The declared measurements of all arms together, outside trials."""
        return tuple(each for each in self.declared.values() if not each.of_trials)
