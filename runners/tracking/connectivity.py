"""How a tracking store is reached: MLflow's variables, a quick check without MLflow, reasons without credentials."""

import json
import re
import socket
import ssl
from collections.abc import Mapping
from threading import Thread
from types import MappingProxyType
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

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


LONGEST_ANSWER_SECONDS = 2.0  # per request
LONGEST_CHECK_SECONDS = 4.5  # in total, because name resolution has no timeout
DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
SEARCH = "/api/2.0/mlflow/experiments/search"
LONGEST_ANSWER_BYTES = 1_000_000
UNAUTHORISED = (401, 403)


def not_reachable(uri: str, served: bool) -> str | None:
    """Return why the store at the URI cannot be used, None if it responds."""
    answers: list[str | None] = []

    def check() -> None:
        try:
            answers.append(_check_server(uri) if served else _check_database(uri))
        except (OSError, ValueError) as error:
            answers.append(f"does not answer: {_cause(error)}")

    thread = Thread(target=check, daemon=True)
    thread.start()
    thread.join(LONGEST_CHECK_SECONDS)
    return answers[0] if answers else f"no answer in {LONGEST_CHECK_SECONDS:g} seconds"


def _check_server(uri: str) -> str | None:
    try:
        with urlopen(_search(uri), timeout=LONGEST_ANSWER_SECONDS) as answer:
            json.loads(answer.read(LONGEST_ANSWER_BYTES))
    except HTTPError as error:
        is_server = error.code in UNAUTHORISED  # authorisation is left to MLflow
        return None if is_server else f"does not answer as MLflow: HTTP status {error.code}"
    except URLError as error:
        if isinstance(error.reason, ssl.SSLError):
            return None  # certificates are left to MLflow, which has the user's settings
        raise
    except ValueError:
        return "does not answer as MLflow: the answer is not JSON"
    return None


def _search(uri: str) -> str:
    """Return the address of a request that needs the server's own store."""
    parts = urlsplit(uri)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    location = host if parts.port is None else f"{host}:{parts.port}"
    return urlunsplit((parts.scheme, location or "", f"{parts.path.rstrip('/')}{SEARCH}", "max_results=1", ""))


def _check_database(uri: str) -> str | None:
    parts = urlsplit(uri)
    port = parts.port or DATABASE_PORTS[parts.scheme.partition("+")[0]]
    socket.create_connection((parts.hostname, port), timeout=LONGEST_ANSWER_SECONDS).close()
    return _missing_driver(uri)


def _missing_driver(uri: str) -> str | None:
    from sqlalchemy.engine import make_url  # MLflow's database library; half a second of import

    try:
        make_url(uri).get_dialect().import_dbapi()
    except ImportError as error:
        return f"the database's driver is not installed: {reason_of(error)}"
    except Exception as error:
        return reason_of(error)
    return None


def _cause(error: Exception) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    return (reason.strerror if isinstance(reason, OSError) else None) or reason_of(error)
