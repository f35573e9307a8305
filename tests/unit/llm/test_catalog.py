from __future__ import annotations

import pytest

from acp_server.llm.adapter import ModelInfo
from acp_server.llm.catalog import facts_of, known_models, lookup, model_info
from acp_server.llm.model_table import rows
from acp_server.messages.prices import prices_from_json, prices_to_json

PROVIDERS = ("deepseek", "openai", "anthropic", "google", "kimi", "glm", "qwen", "mistral")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_row_is_sound(provider: str) -> None:
    known = known_models(provider)
    assert len({row.id for row in known}) == len(known) >= 3
    for row in known:
        assert row.context_window is not None
        assert row.max_output_tokens is None or 0 < row.max_output_tokens < row.context_window
        assert row.default_effort is None or row.default_effort in row.efforts
        assert row.input_modalities is not None
        assert "text" in row.input_modalities
        assert row.prices is not None
        assert prices_from_json(prices_to_json(row.prices)) == row.prices
        reading = row.prices.cache_read
        assert reading is None or reading < row.prices.input < row.prices.output


def test_every_provider_of_the_table_is_known() -> None:
    assert tuple(dict.fromkeys(row.provider for row in rows())) == PROVIDERS


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("anthropic", "claude-haiku-4-5", "Claude Haiku 4.5"),
        ("anthropic", "claude-haiku-4-5-20251001", "Claude Haiku 4.5"),
        ("openai", "gpt-5.5-2026-04-23", "GPT-5.5"),
        ("deepseek", "deepseek-v4-pro", "DeepSeek V4 Pro"),
    ],
)
def test_a_model_is_found_by_its_name_and_by_its_dated_name(provider: str, model: str, name: str) -> None:
    found = lookup(provider, model)
    assert found is not None
    assert (found.id, found.name) == (model, name)
    assert facts_of(provider)(model) == found


@pytest.mark.parametrize("model", ["mock", "claude-haiku-4-5-x", "gpt-5.5-2026-04", ""])
def test_of_an_unknown_model_nothing_is_guessed(model: str) -> None:
    assert lookup("anthropic", model) is None
    assert model_info("anthropic", model) == ModelInfo("anthropic", model, model)
