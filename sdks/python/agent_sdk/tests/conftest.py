from collections.abc import Iterator

import pytest
from stub_gate import StubGate


@pytest.fixture
def gate() -> Iterator[StubGate]:
    with StubGate() as stub:
        yield stub


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GATE_ENDPOINT", "GATE_TOKEN", "GATE_LITE_URL", "GATE_LITE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
