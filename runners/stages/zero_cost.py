"""Computes a zero-cost proxy: the gradients of an untrained model on the first batch of its training."""

from typing import ClassVar, Self

from runners.stages.context import StageContext
from runners.stages.stage import StageDeclaration
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.hurdles.zero_cost import ProxyName
from steeplechase.foundation.schema import JsonValue, Seed


class ZeroCostStage(StageDeclaration):
    """Compute a zero-cost proxy of an untrained model on its first batch. Reads `tokens`."""

    stage: ClassVar[str] = "zero_cost"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy", "tokenizers")
    uses_kernels: ClassVar[bool] = True
    candidate: Candidate
    generator: Architecture | None
    seed: Seed
    proxy: ProxyName

    @classmethod
    def of(cls, experiment: Experiment, candidate: Candidate, seed: int, proxy: ProxyName) -> Self:
        """Return the proxy of a candidate."""
        generator = candidate.objective.generator_of(candidate.architecture, experiment.baseline.architecture)
        return cls(candidate=candidate.pretrained, generator=generator, seed=seed, proxy=proxy)

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Return the proxy; weights, batch, masks and dropout are those of the first update of pretraining."""
        from runners.training.dropout import seed_dropout
        from runners.training.loop import accumulate_gradients
        from runners.training.proxies import proxy_named
        from steeplechase.foundation.randomness import stream, stream_seed
        from steeplechase.tasks.objectives import build_model
        from steeplechase.tasks.packing import open_split
        from steeplechase.tasks.tokenizer import load_tokenizer

        tokens, recipe = context.inputs["tokens"], self.candidate.recipe
        seed, tokenizer = recipe.root_seed(self.seed), load_tokenizer(tokens)
        model = build_model(self.candidate, self.generator, seed, tokens)
        batches = open_split(tokens, "train", tokenizer, recipe.sequence_length, self.candidate.objective)
        model.train()
        model.start_update(0)
        random = stream(seed, "masking", 0)
        seed_dropout(stream_seed(seed, "dropout", 0))
        batch = model.prepare(batches.at(0, recipe.batch_sequences, seed), tokenizer, random)
        accumulate_gradients(model, batch, recipe, random)
        return {"proxy": self.proxy, "proxy_value": proxy_named(self.proxy).proxy(model.parameters())}
