"""Published models by name: architecture, objective and recipe as released, and the updates they were trained for.

ELECTRA: Clark et al. 2020, arXiv 2003.10555, its release's configure_pretraining.py and flops_computation.py.
ConvBERT: Jiang et al. 2020, arXiv 2008.02496, its release. BERT: Devlin et al. 2018, arXiv 1810.04805, appendix A.2.
No encoder has a pooler here: BERT-base counts 108,891,648, and 590,592 more with the map and tanh on its first token.
"""

from dataclasses import dataclass
from types import MappingProxyType

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import NoConvolution, SpanDynamic
from search_space.objective import MaskedLanguageModel, Objective, ReplacedTokenDetection
from search_space.recipe import Recipe
from search_space.schedule import LinearSchedule

WARMUP_UPDATES = 10_000  # all three releases


@dataclass(frozen=True)
class Preset:
    """A published model: what it is, how long it was trained, and where that is written."""

    candidate: Candidate
    updates: int
    source: str

    @property
    def tokens(self) -> int:
        """Tokens that all its updates see."""
        return self.updates * self.candidate.recipe.tokens_per_step


def _small(convolution: bool = False) -> Architecture:
    return Architecture(
        bottleneck_ratio=2 if convolution else 1, convolution=SpanDynamic() if convolution else NoConvolution()
    )


def _base(convolution: bool = False) -> Architecture:
    sizes = {"width": 768, "embedding_width": 768, "heads": 12, "feed_forward_width": 3072}
    return _small(convolution).model_copy(update=sizes)


def _recipe(rate: float, sequences: int, length: int = 128) -> Recipe:
    schedule = LinearSchedule(warmup_tokens=WARMUP_UPDATES * sequences * length)
    return Recipe(peak_learning_rate=rate, batch_sequences=sequences, sequence_length=length, schedule=schedule)


def _follows(ratio: int) -> ReplacedTokenDetection:
    return ReplacedTokenDetection(generator="follows", generator_ratio=ratio)


def _preset(architecture: Architecture, objective: Objective, recipe: Recipe, updates: int, source: str) -> Preset:
    return Preset(Candidate(architecture=architecture, objective=objective, recipe=recipe), updates, source)


PRESETS = MappingProxyType(
    {
        "bert-small": _preset(
            _small(),
            MaskedLanguageModel(),
            _recipe(5e-4, 128),
            1_450_000,
            "ELECTRA's own baseline: the body and recipe of ELECTRA-small; updates from flops_computation.py",
        ),
        "bert-base": _preset(
            _base(),
            MaskedLanguageModel(covered_share=0.8, random_share=0.1),
            _recipe(1e-4, 256, 512),  # BERT spent 90% of its updates at 128; ELECTRA counts all at 512
            1_000_000,
            "BERT, appendix A.2; without next-sentence prediction",
        ),
        "electra-small": _preset(
            _small(), _follows(4), _recipe(5e-4, 128), 1_000_000, "ELECTRA's release, configure_pretraining.py"
        ),
        "electra-base": _preset(
            _base(), _follows(3), _recipe(2e-4, 256, 512), 766_000, "ELECTRA's release, configure_pretraining.py"
        ),
        "convbert-small": _preset(
            _small(convolution=True), _follows(4), _recipe(3e-4, 128), 1_000_000, "ConvBERT's release"
        ),
        "convbert-medium-small": _preset(
            _small(convolution=True).model_copy(
                update={"width": 384, "heads": 8, "feed_forward_width": 1536, "feed_forward_groups": 2}
            ),
            _follows(4),
            _recipe(5e-4, 128),
            1_000_000,
            "ConvBERT's release",
        ),
        "convbert-base": _preset(
            _base(convolution=True), _follows(3), _recipe(2e-4, 256), 1_000_000, "ConvBERT's release"
        ),
    }
)
