"""The rows of the table, in its order."""

from tools.faults.at_once import AT_ONCE
from tools.faults.damage import DAMAGE
from tools.faults.hostile import HOSTILE
from tools.faults.kills import KILLS
from tools.faults.moved import MOVED
from tools.faults.row import Row

ROWS: dict[str, Row] = {
    "kills": KILLS,
    "damage": DAMAGE,
    "hostile": HOSTILE,
    "moved": MOVED,
    "at_once": AT_ONCE,
}
