"""The limits that student code runs under. CPU time decides; wall time is a backstop for what only waits."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Limits:
    """Every limit, in its unit; they are part of what made a grade.

    The kernel sees to memory, the size of a file and open descriptors; the grader watches the rest, ten times a second.
    """

    cell_cpu_seconds: float = 5.0
    call_cpu_seconds: float = 1.0
    notebook_cpu_seconds: float = 60.0
    wall_factor: float = 4.0
    grace_seconds: float = 0.5
    memory_bytes: int = 1 << 30
    file_bytes: int = 16 << 20
    disk_bytes: int = 64 << 20
    disk_entries: int = 1_000
    descriptors: int = 64
    threads: int = 64
    cell_output_bytes: int = 1 << 20
    notebook_output_bytes: int = 8 << 20
    faults_per_check: int = 2
    faults_per_notebook: int = 8

    def resources(self) -> dict[str, int]:
        """Return the operating system's limits by their names in the module `resource`."""
        return {
            "RLIMIT_DATA": self.memory_bytes,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_CPU": int(self.notebook_cpu_seconds * 2),
            "RLIMIT_NOFILE": self.descriptors,
        }

    def to_data(self) -> dict[str, float]:
        """Return the limits as JSON data."""
        return asdict(self)
