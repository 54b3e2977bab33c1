"""Connectivity check of a tracking store, in seconds and without MLflow, whose timeouts are far longer."""

import json
import socket
import ssl
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

from runners.tracking.errors import reason_of

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
