"""MLFLOW_* variables set by this project: disabled features, and timeouts."""

from collections.abc import Mapping
from types import MappingProxyType

ENFORCED: Mapping[str, str] = MappingProxyType(
    {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # on by default; CVE-2026-0545
        "MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS": "false",
        "MLFLOW_ALLOW_PICKLE_DESERIALIZATION": "false",  # on by default; CVE-2024-37052 to 37060
        "MLFLOW_ENABLE_ASYNC_LOGGING": "false",  # after a kill, 180 of 200 acknowledged metrics were gone
        "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "false",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
        "MLFLOW_LOGGING_LEVEL": "CRITICAL",  # errors reach the caller as exceptions
    }
)
"""Set always, over the user's environment."""

PREFERRED: Mapping[str, str] = MappingProxyType(
    {
        "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",  # seconds; 120 by default
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",  # 7 by default: one call to a dead server then blocks for 246 s
        "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    }
)
"""Set unless the user's environment sets them."""

HOSTS = ("localhost", "127.0.0.1")  # MLflow's default adds all private networks


def client_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to set before MLflow is imported."""
    return {**{name: value for name, value in PREFERRED.items() if name not in environment}, **ENFORCED}


def server_environment(environment: Mapping[str, str], port: int) -> dict[str, str]:
    """Return the complete environment of a server at a port, without the user's MLflow settings.

    Hosts are named with the port itself: in MLflow's patterns `localhost:*` is also `localhost:1.example.com`.
    """
    kept = {name: value for name, value in environment.items() if not name.startswith(("MLFLOW_", "_MLFLOW_"))}
    hosts = ",".join(name for host in HOSTS for name in (host, f"{host}:{port}"))
    shown = {"MLFLOW_LOGGING_LEVEL": "WARNING"}
    return {**kept, **ENFORCED, **shown, "MLFLOW_SERVER_ALLOWED_HOSTS": hosts}
