"""The only import of fsspec: objects under a URL such as `s3://bucket/prefix`, read and written whole.

Credentials and endpoints are those of the library behind the URL's protocol (for S3: AWS_ACCESS_KEY_ID,
AWS_ENDPOINT_URL, roles); none is part of the URL or written anywhere.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from steeplechase.foundation.errors import ConfigurationError, MachineError, install_extra

LOCAL_PROTOCOLS = ("file", "local")
UNFINISHED = "unfinished"
MOST_READ_BYTES = 2**28
"""Of an object that is read into memory, a manifest: the largest so far have some megabytes."""
EXTRA = install_extra("objects")


class ObjectStore:
    """Objects by name under one URL. Every failure of the library is a MachineError that names the object."""

    def __init__(self, url: str) -> None:
        """Open the store without any request. Raises MachineError if its library is not installed."""
        self.url = url.rstrip("/")
        with self._failures_at(self.url):
            try:
                from fsspec.core import url_to_fs
            except ImportError as error:
                raise MachineError(f"{self.url}: fsspec is not installed; {EXTRA}") from error
            self._renames = urlsplit(url).scheme in LOCAL_PROTOCOLS  # object stores write whole objects anyway
            options = {"auto_mkdir": True} if self._renames else {}
            self._files, self._root = url_to_fs(self.url, use_listings_cache=False, **options)

    def read(self, name: str) -> bytes | None:
        """Return the content of a small object, None if there is none. Raises MachineError if it is not small."""
        with self._failures_at(name):
            try:
                content: bytes = self._files.cat_file(self._path(name), start=0, end=MOST_READ_BYTES + 1)
            except FileNotFoundError:
                return None
        if len(content) > MOST_READ_BYTES:
            raise MachineError(f"{self.url}/{name}: more than {MOST_READ_BYTES} bytes, the most of a manifest")
        return content

    def has(self, name: str) -> bool:
        """Return whether there is an object of this name."""
        with self._failures_at(name):
            return bool(self._files.exists(self._path(name)))

    def write(self, name: str, content: bytes) -> None:
        """Write a small object, which readers see whole or not at all."""
        with self._failures_at(name), self._whole(name) as path:
            self._files.pipe_file(path, content)

    def upload(self, file: Path, name: str) -> None:
        """Copy a file to an object, unless there is one of the same size; readers see it whole or not at all."""
        with self._failures_at(name):
            path = self._path(name)
            if self._files.exists(path) and self._files.size(path) == file.stat().st_size:
                return
            with self._whole(name) as path:
                self._files.put_file(str(file), path)

    def download(self, name: str, file: Path) -> bool:
        """Copy an object to a file; return whether there is one."""
        with self._failures_at(name):
            try:
                self._files.get_file(self._path(name), str(file))
            except FileNotFoundError:
                return False
            return True

    def check(self) -> None:
        """Write, read and delete a small object. Raises MachineError if the store does not take or keep it."""
        with self.probe(secrets.token_hex(16)):
            pass

    @contextmanager
    def probe(self, token: str) -> Iterator[None]:
        """Keep an object with the token, which other machines read with `answers`, until the context ends."""
        name = f"probes/{token}"
        self.write(name, token.encode())
        if not self.answers(token):
            raise MachineError(f"{self.url}: what is written is not what is read")
        try:
            yield
        except BaseException:
            with suppress(MachineError):  # the error itself is told
                self.delete(name)
            raise
        self.delete(name)

    def answers(self, token: str) -> bool:
        """Return whether this machine reads the token that `probe` keeps."""
        return self.read(f"probes/{token}") == token.encode()

    def delete(self, name: str) -> None:
        """Delete an object."""
        with self._failures_at(name):
            self._files.rm_file(self._path(name))

    @contextmanager
    def _whole(self, name: str) -> Iterator[str]:
        """Yield the path to write an object to; a file of a local store is renamed when it is written, or removed."""
        if not self._renames:
            yield self._path(name)
            return
        unfinished = self._path(f"{UNFINISHED}/{secrets.token_hex(16)}")
        try:
            yield unfinished
            self._files.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
            self._files.mv(unfinished, self._path(name))
        except BaseException:
            with suppress(Exception):  # the first failure is told
                self._files.rm_file(unfinished)
            raise

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _failures_at(self, name: str) -> Iterator[None]:
        try:
            yield
        except MachineError:
            raise
        except Exception as error:  # every protocol has exceptions of its own
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            place = name if name == self.url else f"{self.url}/{name}"
            remedy = f"; {EXTRA}" if isinstance(error, ImportError) else ""
            raise MachineError(f"{place}: {type(error).__name__}: {reason}{remedy}") from error


def refuse_url(url: str) -> None:
    """Raise ConfigurationError if the text is no URL of an object store, or holds credentials."""
    if mistake := mistake_of_url(url):
        raise ConfigurationError(f"--store {mistake}")


def mistake_of_url(url: str) -> str:
    """Return why a text is no URL of an object store, or that it holds credentials; empty for a good one."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return f"{url!r} is no URL of an object store: {error}"
    if not url.isprintable() or " " in url or "://" not in url or not parts.scheme:
        return f"{url!r} is no URL of an object store; write s3://BUCKET/PREFIX"
    if not (parts.netloc or parts.path.strip("/")):
        return f"{url!r} is no URL of an object store; write s3://BUCKET/PREFIX"
    if parts.scheme == "memory":
        return f"{url!r} is the memory of one process; workers would not see it"
    if "@" in parts.netloc:
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"{place}: leave user and password out; they come from the environment"
    return ""
