"""Whether something answers at a URI, found out in seconds and without MLflow."""

import socket
import ssl
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

from runners.tracking.outage import reason_of

LONGEST_ANSWER_SECONDS = 2.0
LONGEST_QUESTION_SECONDS = 3.0  # looking a name up has no limit of its own
DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}


def not_reachable(uri: str, served: bool) -> str | None:
    """Return why nothing answers at the URI, None where something does."""
    answers: list[str | None] = []

    def ask() -> None:
        try:
            (_ask_server if served else _ask_database)(uri)
            answers.append(None)
        except (OSError, ValueError) as error:
            answers.append(reason_of(error))

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(LONGEST_QUESTION_SECONDS)
    return answers[0] if answers else f"no answer in {LONGEST_QUESTION_SECONDS:g} seconds"


def _ask_server(uri: str) -> None:
    parts = urlsplit(uri)
    address = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    place = address if parts.port is None else f"{address}:{parts.port}"
    health = urlunsplit((parts.scheme, place or "", f"{parts.path.rstrip('/')}/health", "", ""))
    try:
        urlopen(health, timeout=LONGEST_ANSWER_SECONDS).close()
    except HTTPError:
        return  # an answer; whether we are welcome is MLflow's question
    except URLError as error:
        if isinstance(error.reason, ssl.SSLError):
            return  # likewise: MLflow knows the certificates that the user allows
        raise


def _ask_database(uri: str) -> None:
    parts = urlsplit(uri)
    port = parts.port or DATABASE_PORTS[parts.scheme.partition("+")[0]]
    socket.create_connection((parts.hostname, port), timeout=LONGEST_ANSWER_SECONDS).close()
