"""A PostgreSQL server of a test's own: in a temporary folder, by a socket there and no port, gone in the end."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from tests.preflight import postgresql

PASSWORD = "a-password-that-nothing-shows"
_SETTINGS = "-c listen_addresses= -c fsync=off -c unix_socket_directories="


class Server:
    """A running server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database, with the password in it."""
        return f"postgresql+psycopg://postgres:{PASSWORD}@/{database}?host={self._folder}"

    def create(self, database: str) -> str:
        """Create a database, and return its address."""
        engine = create_engine(self.url(), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"create database {database}"))
        engine.dispose()
        return self.url(database)


@contextmanager
def server() -> Iterator[Server]:
    """Start a server, or skip the test where there is none (in CI, preflight has failed before)."""
    programs = postgresql()
    if programs is None:
        pytest.skip("PostgreSQL is missing: README, “Tests” (CI fails in preflight)")
    folder = Path(tempfile.mkdtemp(prefix="rlinfra-postgresql-"))
    (folder / "password").write_text(PASSWORD)
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
    data = folder / "data"
    try:
        _run(programs / "initdb", "-D", data, "-U", "postgres", "-A", "scram-sha-256",
             f"--pwfile={folder / 'password'}", "--no-sync", "--encoding=UTF8", "--locale=C")  # fmt: skip
        _run(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", f"{_SETTINGS}{folder}", "start")
        try:
            yield Server(folder)
        finally:
            _run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


def _run(*command: object) -> None:
    drop = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    subprocess.run([*drop, *map(str, command)], check=True, cwd="/", stdout=subprocess.DEVNULL, timeout=120)
