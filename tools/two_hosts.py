"""Two hosts and a head in network namespaces: an experiment on Ray, a killed host, a killed driver, PostgreSQL.

`python -m tools.two_hosts [FOLDER]` as root on Linux with iproute2, PostgreSQL 15 and psycopg. Every run must give
the table of a local run byte for byte, each result once in the ledger and each run once in MLflow, and the database's
password must be in no file of the results. Takes some ten minutes of one core; exits 1 if anything differs.
"""

import json
import os
import random
import secrets
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ledger.database import LEDGER_NAME

ROOT = Path(__file__).resolve().parents[1]
HEAD, BRIDGE, NETWORK = "10.77.0.1", "sc-bridge", "10.77.0"
HOSTS = ("sc-head", "sc-one", "sc-two")
RAY = (sys.executable, "-m", "ray.scripts.scripts")
LONGEST_SECONDS = 1200.0
EXPERIMENT = """
experiment: hosts
question: Is a deeper encoder better?
baseline:
  architecture: {{ depth: 1, width: 16, embedding_width: 16, heads: 2, feed_forward_width: 32, vocabulary_size: 300,
                  positions: 32 }}
  objective: {{ kind: masked_language_model }}
  recipe: {{ sequence_length: 32, batch_sequences: 8, peak_learning_rate: 3e-3, dropout: 0.0,
            schedule: {{ kind: linear, warmup_tokens: 2000 }} }}
design: {{ kind: list, arms: {{ deep: {{ depth: 2 }} }} }}
corpus: {{ kind: text_files, path: {text} }}
pretraining: {{ tokens: 60000, seeds: [1, 2], held_out_sequences: 16, evaluations: 1 }}
"""
TRIALS, ARMS = 4, 2


@dataclass
class Hosts:
    """The head, where driver and database are, and two hosts with a processor each."""

    shared: Path
    """The only folder that all hosts see; each host has a /tmp of its own."""
    variables: Mapping[str, str]
    processes: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def start(self, host: str, *command: str, **more: str) -> "subprocess.Popen[bytes]":
        """Start a command on a host; what it prints is in a file named for the host."""
        prefix = ["ip", "netns", "exec", host]
        if host != HOSTS[0]:
            own = (
                f"hostname {host}; mount --make-rprivate /; mount --bind {self.shared} /mnt; mount -t tmpfs none /tmp"
            )
            own += f"; mkdir -p {self.shared}; mount --bind /mnt {self.shared}"
            prefix += ["unshare", "-m", "-u", "sh", "-c", f'{own}; exec "$@"', "sh"]
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = {**inherited, **self.variables, **more}
        with (self.shared / f"{host}.log").open("ab") as log:
            process = subprocess.Popen(
                [*prefix, *command], env=environment, stdout=log, stderr=log, cwd=self.shared, start_new_session=True
            )
        self.processes.append(process)
        return process

    def join(self, host: str) -> None:
        """Let a host join the cluster with one processor."""
        address = f"{NETWORK}.{HOSTS.index(host) + 1}"
        self.start(
            host, *RAY, "start", "--block", f"--address={HEAD}:6379", "--num-cpus=1", f"--node-ip-address={address}"
        )


def kill_host(host: str) -> None:
    """Kill every process of a host at once."""
    for process in subprocess.run(
        ["ip", "netns", "pids", host], capture_output=True, text=True, check=False
    ).stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)


@contextmanager
def network() -> Iterator[None]:
    """Make the namespaces, joined by a bridge in the head's."""
    head = HOSTS[0]
    for host in HOSTS:
        _run("ip", "netns", "add", host)
        _run("ip", "-n", host, "link", "set", "lo", "up")
    try:
        _run("ip", "-n", head, "link", "add", BRIDGE, "type", "bridge")
        _run("ip", "-n", head, "addr", "add", f"{HEAD}/24", "dev", BRIDGE)
        _run("ip", "-n", head, "link", "set", BRIDGE, "up")
        for number, host in enumerate(HOSTS[1:], start=2):
            _run(
                "ip",
                "-n",
                head,
                "link",
                "add",
                f"sc-v{number}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                host,
            )
            _run("ip", "-n", head, "link", "set", f"sc-v{number}", "master", BRIDGE, "up")
            _run("ip", "-n", host, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            _run("ip", "-n", host, "link", "set", "eth0", "up")
        yield
    finally:
        for host in HOSTS:
            kill_host(host)
            _run("ip", "netns", "del", host)


@contextmanager
def database(hosts: Hosts, password: str) -> Iterator[str]:
    """Start PostgreSQL on the head; yield the tracking URI."""
    programs = Path("/usr/lib/postgresql/15/bin")
    with tempfile.TemporaryDirectory(prefix="sc-database-") as folder:
        place = Path(folder)
        (place / "password").write_text(password)
        shutil.chown(place / "password", "postgres")
        shutil.chown(place, "postgres")
        as_owner = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")
        wanted = (
            "-U",
            "tracker",
            "-A",
            "scram-sha-256",
            "--pwfile",
            str(place / "password"),
            "-E",
            "UTF8",
            "--no-sync",
        )
        _run(*as_owner, str(programs / "initdb"), "-D", str(place / "data"), *wanted)
        with (place / "data" / "pg_hba.conf").open("a") as access:
            access.write(f"host all all {NETWORK}.0/24 scram-sha-256\n")
        server = hosts.start(
            *(
                HOSTS[0],
                *as_owner,
                str(programs / "postgres"),
                "-D",
                str(place / "data"),
                "-h",
                HEAD,
                "-k",
                str(place),
            )
        )
        try:
            yield f"postgresql://tracker:{password}@{HEAD}/postgres"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


def query(password: str, statement: str) -> list[str]:
    """Return the rows of a statement on the tracking database."""
    command = [
        "ip",
        "netns",
        "exec",
        HOSTS[0],
        "psql",
        "-h",
        HEAD,
        "-U",
        "tracker",
        "-At",
        "-c",
        statement,
        "postgres",
    ]
    environment = {**os.environ, "PGPASSWORD": password}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def driver(hosts: Hosts, name: str, uri: str) -> "subprocess.Popen[bytes]":
    """Start the driver on the head."""
    own = {"MLFLOW_TRACKING_URI": uri, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    experiment = hosts.shared / f"{name}.yaml"
    experiment.write_text(
        (hosts.shared / "hosts.yaml").read_text().replace("experiment: hosts", f"experiment: {name}")
    )
    asked = ("--engine", "ray", "--address", f"{HEAD}:6379", "--workers", "2", "--out", str(hosts.shared / name))
    return hosts.start(HOSTS[0], sys.executable, "-m", "commands.main", "run", str(experiment), *asked, **own)


def wait_for_trials(folder: Path) -> None:
    """Wait until trials are training: the shared stages are finished, and one of their stages is not."""
    stages, until = folder / "stages", time.monotonic() + LONGEST_SECONDS
    while not any((stages / "evaluation_set").glob("*")) or not any((stages / "progress").glob("*.json")):
        if time.monotonic() > until:
            raise TimeoutError(f"{folder}: no trial has started")
        time.sleep(0.1)
    time.sleep(1.0)


def mistakes(folder: Path, expected: bytes, password: str) -> Iterator[str]:
    """Yield what is wrong with a finished run."""
    if (folder / "report.csv").read_bytes() != expected:
        yield "the table is not that of the local run"
    with closing(sqlite3.connect(folder / LEDGER_NAME)) as ledger:
        records = [json.loads(content) for (content,) in ledger.execute("SELECT content FROM records")]
        rows = [(record["trial"], record["label"]) for record in records]
    if len(rows) != len(set(rows)):
        yield f"{len(rows) - len(set(rows))} rows of the ledger are doubled"
    runs = "SELECT count(*), count(DISTINCT t.value) FROM tags t JOIN runs r USING (run_uuid) JOIN experiments e"
    runs += f" USING (experiment_id) WHERE t.key = 'steeplechase.identity' AND e.name LIKE '{folder.name}-%'"
    counts = query(password, runs)
    if counts != [f"{1 + ARMS + TRIALS}|{1 + ARMS + TRIALS}"]:
        yield f"MLflow has {counts} runs, all and different; {1 + ARMS + TRIALS} were expected"
    unfinished = query(password, "SELECT status FROM runs WHERE status <> 'FINISHED'")
    if unfinished:
        yield f"MLflow has unfinished runs: {unfinished}"
    for path in folder.rglob("*"):
        if path.is_file() and password.encode() in path.read_bytes():
            yield f"{path} holds the password of the database"


def main() -> int:
    """Run the experiment undisturbed, with a killed host and with a killed driver; return the exit code."""
    shared = Path(
        sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="sc-hosts-", dir="/var/tmp")
    ).resolve()
    shared.mkdir(parents=True, exist_ok=True)
    _write_experiment(shared)
    _run(sys.executable, "-m", "commands.main", "run", str(shared / "hosts.yaml"), "--out", str(shared / "local"))
    expected = (shared / "local" / "report.csv").read_bytes()
    password, found = secrets.token_hex(12), 0
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    with ExitStack() as stack:
        hosts = Hosts(shared, variables)
        stack.enter_context(network())
        ray_files = stack.enter_context(tempfile.TemporaryDirectory(prefix="sc-", dir="/tmp"))
        uri = stack.enter_context(database(hosts, password))
        head = ("start", "--head", "--block", "--port=6379", "--num-cpus=0", f"--node-ip-address={HEAD}")
        hosts.start(HOSTS[0], *RAY, *head, "--include-dashboard=false", f"--temp-dir={ray_files}")
        time.sleep(15)
        for host in HOSTS[1:]:
            hosts.join(host)
        time.sleep(20)
        for name in ("undisturbed", "host-killed", "driver-killed"):
            started = time.monotonic()
            code = _disturbed(hosts, name, uri)
            wrong = [*mistakes(shared / name, expected, password)] if code == 0 else [f"exit code {code}"]
            found += len(wrong)
            verdict = "; ".join(wrong) or "as local, nothing doubled"
            sys.stdout.write(f"{name}: {verdict} ({time.monotonic() - started:.0f} s)\n")
            sys.stdout.flush()
    return 1 if found else 0


def _disturbed(hosts: Hosts, name: str, uri: str) -> int:
    """Run the experiment, kill what its name says once a trial is training, and return the last exit code."""
    run = driver(hosts, name, uri)
    if name == "host-killed":
        wait_for_trials(hosts.shared / name)
        kill_host(HOSTS[2])
    if name == "driver-killed":
        hosts.join(HOSTS[2])
        wait_for_trials(hosts.shared / name)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        run = driver(hosts, name, uri)
    return run.wait(LONGEST_SECONDS)


def _write_experiment(shared: Path) -> None:
    text, words = shared / "text", random.Random(5)
    text.mkdir(exist_ok=True)
    for number in range(400):
        (text / f"{number}.txt").write_text(" ".join(f"{words.getrandbits(40):x}" for _ in range(100)))
    (shared / "hosts.yaml").write_text(EXPERIMENT.format(text=text))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
