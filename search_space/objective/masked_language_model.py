"""Masked language modelling: predict the masked tokens. Devlin et al. 2018, arXiv 1810.04805, section 3.1.

The share of predicted tokens may change at the beginning of training: Ankner et al. 2023, arXiv 2305.15096.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Literal, Self

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component
from search_space.objective.pretraining_objective import PretrainingObjective
from search_space.output_layer import OutputLayer, Transformed
from search_space.packing import ContinuedPairs, PackingOption
from search_space.selection import Selection, SingleToken
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import VARIANT_KEY, Count, Schema, Share


class MaskRateSchedule(Schema):
    """From `initial_rate` to the objective's `mask_rate`, which stays from then on and is that of held-out losses."""

    initial_rate: float = Field(gt=0, lt=1, examples=[0.3])
    """Share of the tokens that is predicted in the first update. Ankner et al.: 0.3, with a `mask_rate` of 0.15."""
    tokens: Count = Field(examples=[16_384_000_000])
    """Training tokens before the share is `mask_rate`. Ankner et al.: all, that is `pretraining.tokens`."""
    shape: Literal["linear", "cosine"] = "linear"
    """The way between both: a straight line, or half a cosine (Yang et al. 2022, arXiv 2208.10806)."""

    def rate(self, mask_rate: float, tokens: int) -> float:
        """Return the share after `tokens` of training."""
        if tokens >= self.tokens:
            return mask_rate
        done = tokens / self.tokens
        left = 1 - done if self.shape == "linear" else (1 + math.cos(math.pi * done)) / 2
        return mask_rate + left * (self.initial_rate - mask_rate)


class Masking(PretrainingObjective):
    """A share of the tokens is predicted; most of them are replaced by [MASK].

    Shared by the objectives that mask tokens. Tokens are drawn without replacement (ELECTRA's release draws with
    replacement, which leaves about 13.8% of a sequence of 128). Special tokens and padding are never drawn.
    """

    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens that is predicted. Default: BERT and ELECTRA-Small."""
    mask_rate_schedule: MaskRateSchedule | None = None
    """The way to `mask_rate` at the beginning of training; held-out losses are measured at `mask_rate`. None: no way,
    every update has it."""
    mask_token_share: Share = 0.85
    """Share of the predicted positions replaced by [MASK]; the rest keep their token. Default: ELECTRA."""
    random_token_share: Share = 0.0
    """Share of the predicted positions replaced by a random token. BERT: 0.1, with 0.8 replaced by [MASK]."""
    selection: Selection = Field(default_factory=SingleToken)
    """Which tokens are predicted: single tokens, whole words, n-grams or spans."""
    replaced_together: Literal["token", "span"] = "token"
    """Whether each token or each selected span has its own choice of [MASK], random tokens or its own tokens. BERT:
    token; SpanBERT: span."""
    static_masks: Count | None = None
    """The number of different masks of a sequence, repeated in the order of its epochs (BERT: 10); by default a
    sequence has a new mask at every visit (dynamic masking, RoBERTa, arXiv 1907.11692, section 4.1)."""

    @property
    def description(self) -> str:
        """The name and the share of predicted tokens."""
        predicted = f"{self.name}, {self.mask_rate:.0%} of the tokens predicted"
        if (schedule := self.mask_rate_schedule) is not None:
            predicted += f" after {schedule.initial_rate:.0%} at first, over {schedule.tokens:,} tokens"
        if self.selection != SingleToken():
            predicted += f", selected by {self.selection.kind.replace('_', ' ')}"
        if self.static_masks is not None:
            predicted += f", {self.static_masks} masks for each sequence"
        return f"{predicted}{self.packing_text}"

    @property
    def masking_fields(self) -> dict[str, Any]:
        """The fields that decide the masks of an evaluation set, which has one mask for each sequence."""
        return {
            name: getattr(self, name)
            for name in Masking.model_fields
            if name not in (VARIANT_KEY, "mask_rate_schedule", "static_masks", "packing")
        }

    def at(self, tokens: int) -> Self:
        """Return the objective with the share of masked tokens after `tokens` of training."""
        schedule = self.mask_rate_schedule
        if schedule is None or tokens >= schedule.tokens:
            return self.settled
        rate = schedule.rate(self.mask_rate, tokens)
        return self.model_copy(update={"mask_rate": rate, "mask_rate_schedule": None})

    @property
    def settled(self) -> Self:
        """The objective with its last share of masked tokens."""
        return self if self.mask_rate_schedule is None else self.model_copy(update={"mask_rate_schedule": None})

    def changes(self, length: int) -> tuple[int, ...]:
        """Return the training tokens from which another number of tokens of a sequence is masked."""
        if self.mask_rate_schedule is None:
            return ()

        def masked(tokens: int) -> int:
            return self.at(tokens).masked_tokens(length)

        found, end = [0], self.mask_rate_schedule.tokens
        while (before := masked(found[-1])) != masked(end):
            found.append(bisect_left(range(end + 1), True, lo=found[-1], key=lambda place: masked(place) != before))
        return (*found[1:],)

    def predictions(self, length: int) -> int:
        """Return the maximum number of predicted positions: those of the masked tokens."""
        return self.masked_tokens(length)

    def masked_tokens(self, length: int) -> int:
        """Return the maximum number of selected tokens: 19 of 128 at 15%; never [CLS] or the last [SEP]."""
        return max(1, min(length - 2, self.selection.budget(self.mask_rate, length)))

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        if self.mask_token_share + self.random_token_share > 1:
            total = f"mask_token_share {self.mask_token_share} + random_token_share {self.random_token_share}"
            yield Violation(("random_token_share",), f"{total} is more than 1; the two are parts of one whole")
        if self.mask_rate_schedule is not None and self.static_masks is not None:
            message = f"{self.static_masks} masks of a sequence have one share; leave mask_rate_schedule out"
            yield Violation(("static_masks",), message)
        if self.mask_rate_schedule is not None and self.mask_rate_schedule.initial_rate == self.mask_rate:
            message = f"{self.mask_rate:g} is the mask_rate; leave the schedule out, or write another initial_rate"
            yield Violation(("mask_rate_schedule", "initial_rate"), message)


class MaskedLanguageModel(Masking):
    """Cross-entropy at the predicted positions; the output table is the embedding table, unless it is untied."""

    kind: Literal["masked_language_model"] = "masked_language_model"
    """Chooses masked language modelling."""
    output_layer: OutputLayer = Field(default_factory=Transformed)
    """From hidden states to the vocabulary: `transformed` as in BERT, `untied` as in NeoBERT, or `soft_capped`."""

    @property
    def description(self) -> str:
        """The name, the share of predicted tokens, and the output layer where it is not the usual one."""
        layer = "" if isinstance(self.output_layer, Transformed) else f", output layer {self.output_layer.kind}"
        return f"{super().description}{layer}"

    @property
    def reference(self) -> "MaskedLanguageModel":
        """The same masks, one for each sequence."""
        return MaskedLanguageModel(**self.masking_fields)

    def reads(self, packing: PackingOption) -> bool:
        """Sequences of one segment, full or padded, and pairs that follow text."""
        return packing.follows_text or not (packing.pairs or packing.reads_mentions or packing.consecutive)

    @property
    def reads_memory(self) -> bool:
        """Yes, of the text that pairs follow."""
        return True

    def mistakes_at(self, length: int, rows: int) -> Iterator[Violation]:
        """Yield what the packing cannot be made of."""
        if isinstance(self.packing, ContinuedPairs):
            yield from self.packing.mistakes_at(length, rows)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the components that pretraining adds to the encoder and fine-tuning drops."""
        return (self.output_layer.component(architecture),)

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield what the output layer needs of the architecture, and a memory of the packing."""
        yield from super().needs(architecture)
        for mistake in self.output_layer.mistakes(architecture):
            yield Violation(("objective", "output_layer"), f"{self.output_layer.kind} {mistake}")


class WithMaskedReference(Masking):
    """Its evaluation set has the masks of this objective, made by masked language modelling."""

    @property
    def reference(self) -> MaskedLanguageModel:
        """Masked language modelling with the same masks."""
        return MaskedLanguageModel(**self.masking_fields)
