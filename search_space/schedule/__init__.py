"""The learning rate over the tokens: one file per schedule."""

from typing import Annotated

from search_space.schedule.constant import ConstantSchedule
from search_space.schedule.cosine import CosineSchedule
from search_space.schedule.inverse_square_root import InverseSquareRootSchedule
from search_space.schedule.linear import LinearSchedule
from search_space.schedule.option import ScheduleOption
from search_space.schedule.warmup_stable_decay import WarmupStableDecaySchedule
from steeplechase.foundation.schema import OPTION

Schedule = Annotated[ScheduleOption, OPTION]

__all__ = [
    "ConstantSchedule",
    "CosineSchedule",
    "InverseSquareRootSchedule",
    "LinearSchedule",
    "Schedule",
    "ScheduleOption",
    "WarmupStableDecaySchedule",
]
