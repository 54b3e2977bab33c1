"""The only import of plotly, an optional extra: its JavaScript library as text (https://plotly.com/javascript/)."""

from importlib.util import find_spec

from steeplechase.foundation.errors import MachineError, install_extra


def is_installed() -> bool:
    """Whether the extra is there."""
    return find_spec("plotly") is not None


def plotly_script() -> str:
    """Return the library. Raises MachineError without the extra."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as missing:
        raise MachineError(f"steeplechase explore needs plotly; {install_extra('explore')}") from missing
    return str(get_plotlyjs())
