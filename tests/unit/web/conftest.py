from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server with an owner who has one memory."""
    made = Served(tmp_path)
    made.kept.say(1, "Always indent with tabs in this repository, never with spaces.")
    made.kept.run()
    yield made
    made.client.close()
