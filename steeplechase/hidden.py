"""The check for modules that hide this project's packages, loaded by its path: `foundation` may be hidden too."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

CHECK = Path(__file__).resolve().parents[1] / "foundation" / "hidden_packages.py"


def hidden_packages() -> tuple[str, ...]:
    """Return a line for each hidden package, as `steeplechase.foundation.hidden_packages` does, without importing `foundation`."""
    spec = spec_from_file_location("hidden_packages", CHECK)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found: tuple[str, ...] = module.hidden_packages()
    return found
