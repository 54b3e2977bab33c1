"""Fair tuning: every arm is tried at the same few recipes, on seeds kept apart, before it is compared."""

from runners.tuning.tune import Tune

__all__ = ["Tune"]
