"""Sockets that an attack could reach: TCP over IPv4 and IPv6, UDP, a unix socket with a path and one without."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from pathlib import Path


class Listeners:
    """Listens until closed, and keeps the names of the sockets that something reached."""

    def __init__(self, folder: Path, tag: str) -> None:
        self.reached: list[str] = []
        self._selector = selectors.DefaultSelector()
        self._stop_read, self._stop_write = socket.socketpair()
        self._selector.register(self._stop_read, selectors.EVENT_READ, "")
        self.port = self._listen("TCP", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))[1]
        self.udp = self._listen("UDP", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))[1]
        self.port6 = self._listen("TCP over IPv6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))[1]
        self.unix = folder / "listener.sock"
        self._listen("the unix socket", socket.AF_UNIX, socket.SOCK_STREAM, str(self.unix))
        self.unix.chmod(0o777)
        self._listen("the abstract socket", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{tag}")
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _listen(self, name: str, family: int, kind: int, address: object) -> tuple[str, int]:
        one = socket.socket(family, kind)
        one.bind(address)
        if kind == socket.SOCK_STREAM:
            one.listen()
        one.setblocking(False)
        self._selector.register(one, selectors.EVENT_READ, name)
        return one.getsockname()

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if not key.data:
                    return
                self.reached.append(key.data)
                with contextlib.suppress(OSError):
                    if key.fileobj.type == socket.SOCK_DGRAM:
                        key.fileobj.recv(4096)
                    else:
                        key.fileobj.accept()[0].close()

    def close(self) -> None:
        """Stop listening."""
        self._stop_write.send(b"x")
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._stop_write.close()
        self._selector.close()
