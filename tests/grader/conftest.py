"""Course roots to work in: copies of what is committed, in which nothing that is done harms the repository."""

import shutil

import pytest

from rlinfra.topics import TOPICS

from .course import REPOSITORY


@pytest.fixture(scope="session")
def _released(tmp_path_factory):
    from rlinfra_autograder.course import data_path
    from rlinfra_autograder.release import write_release

    root = tmp_path_factory.mktemp("course") / "root"
    root.mkdir()
    shutil.copy(REPOSITORY / "nbgrader_config.py", root)
    shutil.copytree(REPOSITORY / "source", root / "source", ignore=shutil.ignore_patterns(".*"))
    names = [topic.name for topic in TOPICS]
    data_path(root, names[0]).parent.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("PATH", "/usr/bin:/bin")
        write_release(root, names)
    return root


@pytest.fixture(scope="session")
def released(_released):
    """A course root that was released from the sources, with nbgrader's database; not to be written to."""
    return _released


@pytest.fixture
def course(released, tmp_path, monkeypatch):
    """A copy of the released course root, to be spoilt; it is the working directory."""
    root = tmp_path / "root"
    shutil.copytree(released, root)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return root
