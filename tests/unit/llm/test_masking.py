"""Secrets of many shapes are taken out; what only looks long is kept."""

from __future__ import annotations

import pytest

from acp_server.llm.masking import mask_secrets

# Written in two halves, so that scanners of repositories do not take the examples for real ones.
SECRETS = (
    "sk-" + "mock-SECRETTAIL",
    "sk-" + "proj-abcDEF123456_-xyz",
    "sk-" + "ant-api03-abcDEF123456",
    "sk-" + "or-v1-0123456789abcdef",
    "sk_" + "live_abcdef123456",
    "rk_" + "live_abcdef123456",
    "AIza" + "SyA1234567890abcdefghijklmnopqrs",
    "ya29." + "a0AfH6SMBabcdefg",
    "ghp_" + "abcdefghij0123456789ABCDEFGHIJ",
    "github_pat_" + "11ABCDEFG0abcdefghij",
    "glpat-" + "abcdefghij0123456789",
    "xoxb-" + "123456789012-abcdef",
    "xai-" + "abcdefghijklmnop",
    "hf_" + "abcdefghijklmnopqrst",
    "gsk_" + "abcdefghijklmnopqrst",
    "r8_" + "abcdefghijklmnopqrst",
    "nvapi-" + "abcdefghijklmnopqrst",
    "pplx-" + "abcdefghijklmnopqrst",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0.abcDEF-_123",
    "0123456789abcdef" + "0123456789abcdef",
    "0123456789abcdef0123456789abcdef" + ".AbCdEfGhIjKl",
    "QWxhZGRpbjpvcGVuIHNlc2FtZQ" + "0123456789abcdef==",
)
KEPT = (
    "Incorrect value for temperature: 3.5",
    "prompt is too long: 210312 tokens > 200000 maximum",
    "request 123e4567-e89b-42d3-a456-426614174000 failed",
    "req_011CSHoEeqs5C35K2UUqR7Fy",
    "model claude-sonnet-4-5-20250929 does not exist",
    "https://api.openai.com/v1/chat/completions",
    "/home/someone/projects/a-rather-long-directory-name/src/module.py",
    "Unknown key: temperature",
    "task-oriented risk-averse models",
    "tokens: 12345",
)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_masked_wherever_it_stands(secret: str) -> None:
    for before, after in (("", ""), ("key ", " refused"), ("'", "'."), ('{"k":"', '"}'), ("(", ")")):
        masked = mask_secrets(f"{before}{secret}{after}")
        assert masked == f"{before}[secret]{after}"


@pytest.mark.parametrize("text", KEPT)
def test_other_text_stays(text: str) -> None:
    assert mask_secrets(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abc.def", "Authorization: [secret] [secret]"),
        ("bearer abcdef", "bearer [secret]"),
        ("x-api-key: whatever", "x-api-key: [secret]"),
        ("Incorrect API key provided: hunter22", "Incorrect API key provided: [secret]"),
        ("GET /v1/models?key=abcd1234&alt=sse", "GET /v1/models?key=[secret]&alt=sse"),
        ("'access_token': 'abcd1234'", "'access_token': '[secret]'"),
        ("password=hunter22", "password=[secret]"),
        ("https://user:pass@127.0.0.1/v1", "https://[secret]@127.0.0.1/v1"),
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nrest", "[secret]\nrest"),
    ],
)
def test_a_named_secret_is_masked(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


def test_a_known_secret_is_masked_whatever_it_looks_like() -> None:
    assert mask_secrets("you sent plainword twice: plainword", ["plainword", None, "you"]) == (
        "you sent [secret] twice: [secret]"
    )
