"""Reaching the network, and what listens on this machine."""

from __future__ import annotations

from .attack import Attack, Goal, cell

KIND = "reaching the network"
CALLS = "sockets: seccomp and Landlock"

ATTACKS = (
    Attack(
        "TCP",
        KIND,
        "Connects to a port of this machine.",
        cell("import socket\nsocket.create_connection(('127.0.0.1', «port»), 2)"),
        Goal.CONNECT,
        CALLS,
    ),
    Attack(
        "HTTP",
        KIND,
        "Fetches an address with urllib.",
        cell("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:«port»/«tag»', timeout=1)"),
        Goal.CONNECT,
        CALLS,
    ),
    Attack(
        "TCP over IPv6",
        KIND,
        "Connects over IPv6.",
        cell("import socket\nsocket.create_connection(('::1', «port6»), 2)"),
        Goal.CONNECT,
        CALLS,
    ),
    Attack(
        "UDP",
        KIND,
        "Sends a datagram, as a name look-up would.",
        cell("import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'hidden', ('127.0.0.1', «udp»))"),
        Goal.CONNECT,
        CALLS,
    ),
    Attack(
        "unix socket",
        KIND,
        "Connects to a socket in the file system, as a database or a container engine has one.",
        cell("import socket\nsocket.socket(socket.AF_UNIX).connect('«unix»')"),
        Goal.CONNECT,
        CALLS,
    ),
    Attack(
        "abstract unix socket",
        KIND,
        "Connects to a socket without a path, which no rule for files covers.",
        cell("import socket\nsocket.socket(socket.AF_UNIX).connect('\\0«tag»')"),
        Goal.CONNECT,
        CALLS,
    ),
    Attack(
        "listening",
        KIND,
        "Listens on a port, for an accomplice to connect to.",
        cell("import socket\none = socket.socket()\none.bind(('127.0.0.1', 0))\none.listen()\n«say»"),
        Goal.CONNECT,
        CALLS,
    ),
)
