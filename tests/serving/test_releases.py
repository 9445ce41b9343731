"""Releases of vLLM that the plugin does not support end with a sentence."""

from __future__ import annotations

import importlib.metadata

import pytest


@pytest.mark.parametrize("version", ["0.29.1", "0.34.0", "1.0.0"])
def test_another_release_is_named(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm_diopi import compatibility

    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    with pytest.raises(
        ImportError, match=rf"^vllm-diopi supports vLLM 0.31 to 0.33, and this is {version}: pip install"
    ):
        compatibility.require_vllm()
