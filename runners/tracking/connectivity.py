"""How a tracking store is reached: MLflow's variables, a quick check without MLflow, reasons without credentials."""

import re
import socket
from collections.abc import Mapping
from threading import Thread
from types import MappingProxyType
from urllib.parse import urlsplit

from steeplechase.foundation.errors import MachineError

USER_INFORMATION = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)\S*@")  # greedy: a password may hold an @
NAMED_SECRET = re.compile(r"(?i)(?P<name>[?&;](?:password|passwd|token|secret|key|auth)[^=\s]*=)[^&;\s]+")
LONGEST_REASON_CHARACTERS = 300


class TrackingUnavailable(MachineError):
    """The mirror could not be brought up to date. No result is lost: the next mirror catches up."""


def redacted(text: str) -> str:
    """Return the text with user names, passwords and tokens of URIs replaced by `***`."""
    return NAMED_SECRET.sub(r"\g<name>***", USER_INFORMATION.sub(r"\g<scheme>***@", text))


def reason_of(error: BaseException) -> str:
    """Return the first line of an error, redacted and not too long."""
    text = str(error).strip() or type(error).__name__
    return redacted(text.splitlines()[0])[:LONGEST_REASON_CHARACTERS]


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


LONGEST_ANSWER_SECONDS = 2.0
LONGEST_CHECK_SECONDS = 4.5  # in total, because name resolution has no timeout
PORTS = {"http": 80, "https": 443, "postgresql": 5432, "mysql": 3306, "mssql": 1433}


def not_reachable(uri: str) -> str | None:
    """Return why nothing can be sent to a server or a database, None if its port answers; without MLflow."""
    parts, answers = urlsplit(uri), list[str | None]()

    def check() -> None:
        try:
            port = parts.port or PORTS[parts.scheme.partition("+")[0]]
            socket.create_connection((parts.hostname or "", port), LONGEST_ANSWER_SECONDS).close()
            answers.append(None)
        except (OSError, ValueError) as error:
            answers.append(f"does not answer: {getattr(error, 'strerror', None) or reason_of(error)}")

    thread = Thread(target=check, daemon=True)
    thread.start()
    thread.join(LONGEST_CHECK_SECONDS)
    return answers[0] if answers else f"no answer in {LONGEST_CHECK_SECONDS:g} seconds"
