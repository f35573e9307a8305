"""The rows of the bundles `base` and `acp`, as code: what a process is made of that nobody has configured.

Made from the bundles by `python -m tests.support.generated`, since reading TOML takes longer than all of these rows.
"""

from __future__ import annotations

from typing import Final

from acp_server.app.row import Row

ROWS: Final = (
    Row(
        id="log",
        component="acp_server.app.parts.process:log",
        config={},
    ),
    Row(
        id="store",
        component="acp_server.app.parts.process:store",
        config={"persistence": "disk"},
    ),
    Row(
        id="limits",
        component="acp_server.app.parts.process:limits",
        config={},
    ),
    Row(
        id="default-model",
        component="acp_server.app.parts.models:default_model",
        config={},
    ),
    Row(
        id="models",
        component="acp_server.app.parts.models:overrides",
        config={},
    ),
    Row(
        id="provider-deepseek",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "deepseek",
            "protocol": "chat",
            "base_url": "https://api.deepseek.com",
            "base_url_env": "DEEPSEEK_BASE_URL",
            "key": {"env": "DEEPSEEK_API_KEY"},
            "default_model": "deepseek-flash",
            "catalog": "deepseek",
        },
    ),
    Row(
        id="provider-anthropic",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "anthropic",
            "protocol": "messages",
            "base_url": "https://api.anthropic.com",
            "base_url_env": "ANTHROPIC_BASE_URL",
            "key": {"env": "ANTHROPIC_API_KEY"},
            "default_model": "claude-sonnet-5-5",
            "catalog": "anthropic",
        },
    ),
    Row(
        id="provider-openai",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "openai",
            "protocol": "chat",
            "base_url": "https://api.openai.com/v1",
            "base_url_env": "OPENAI_BASE_URL",
            "key": {"env": "OPENAI_API_KEY"},
            "default_model": "gpt-5.6",
            "catalog": "openai",
        },
    ),
    Row(
        id="provider-openai-responses",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "openai-responses",
            "protocol": "responses",
            "base_url": "https://api.openai.com/v1",
            "base_url_env": "OPENAI_BASE_URL",
            "key": {"env": "OPENAI_API_KEY"},
            "default_model": "gpt-5.6",
            "catalog": "openai",
        },
    ),
    Row(
        id="provider-google",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "google",
            "protocol": "chat",
            "base_url": "https://generativelanguage.googleapis.com/v1beta/openai",
            "base_url_env": "GEMINI_BASE_URL",
            "key": {"env": "GEMINI_API_KEY"},
            "default_model": "gemini-3.8-flash",
            "catalog": "google",
        },
    ),
    Row(
        id="provider-kimi",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "kimi",
            "protocol": "chat",
            "base_url": "https://api.moonshot.ai/v1",
            "base_url_env": "MOONSHOT_BASE_URL",
            "key": {"env": "MOONSHOT_API_KEY"},
            "default_model": "kimi-k3",
            "catalog": "kimi",
        },
    ),
    Row(
        id="provider-glm",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "glm",
            "protocol": "chat",
            "base_url": "https://api.z.ai/api/paas/v4",
            "base_url_env": "ZAI_BASE_URL",
            "key": {"env": "ZAI_API_KEY"},
            "default_model": "glm-5.3",
            "catalog": "glm",
        },
    ),
    Row(
        id="provider-qwen",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "qwen",
            "protocol": "chat",
            "base_url": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            "base_url_env": "DASHSCOPE_BASE_URL",
            "key": {"env": "DASHSCOPE_API_KEY"},
            "default_model": "qwen3.8-max",
            "catalog": "qwen",
        },
    ),
    Row(
        id="provider-mistral",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "mistral",
            "protocol": "chat",
            "base_url": "https://api.mistral.ai/v1",
            "base_url_env": "MISTRAL_BASE_URL",
            "key": {"env": "MISTRAL_API_KEY"},
            "default_model": "mistral-large-4",
            "catalog": "mistral",
        },
    ),
    Row(
        id="provider-openrouter",
        component="acp_server.app.parts.models:provider",
        config={
            "name": "openrouter",
            "protocol": "chat",
            "base_url": "https://openrouter.ai/api/v1",
            "base_url_env": "OPENROUTER_BASE_URL",
            "key": {"env": "OPENROUTER_API_KEY"},
        },
    ),
    Row(
        id="scripted",
        component="acp_server.app.parts.models:scripted",
        config={},
    ),
    Row(
        id="identity",
        component="acp_server.app.parts.prompt:identity",
        config={},
    ),
    Row(
        id="project-directory",
        component="acp_server.app.parts.prompt:project_directory",
        config={},
    ),
    Row(
        id="surroundings",
        component="acp_server.app.parts.prompt:surroundings",
        config={},
    ),
    Row(
        id="instructions",
        component="acp_server.app.parts.prompt:instructions",
        config={},
    ),
    Row(
        id="skills",
        component="acp_server.app.parts.skills:skills",
        config={},
    ),
    Row(
        id="presets",
        component="acp_server.app.parts.presets:presets",
        config={},
    ),
    Row(
        id="title",
        component="acp_server.app.parts.prompt:title",
        config={},
    ),
    Row(
        id="consent",
        component="acp_server.app.parts.consent:consent",
        config={},
    ),
    Row(
        id="sandbox",
        component="acp_server.app.parts.consent:sandbox",
        config={},
    ),
    Row(
        id="tools",
        component="acp_server.app.parts.tools:standard",
        config={},
    ),
    Row(
        id="lsp",
        component="acp_server.app.parts.lsp:servers",
        config={},
    ),
    Row(
        id="subagents",
        component="acp_server.app.parts.subagents:subagents",
        config={},
    ),
    Row(
        id="asking",
        component="acp_server.app.parts.asking:asking",
        config={},
    ),
    Row(
        id="web",
        component="acp_server.app.parts.web:web",
        config={"key": {"env": "BRAVE_API_KEY"}},
    ),
    Row(
        id="hooks",
        component="acp_server.app.parts.hooks:hooks",
        config={},
    ),
    Row(
        id="compaction",
        component="acp_server.app.parts.compaction:keeper",
        config={},
    ),
    Row(
        id="acp",
        component="acp_server.app.parts.front:acp",
        config={},
        requires=("store",),
    ),
    Row(
        id="commands",
        component="acp_server.app.parts.front:commands",
        config={},
        requires=("acp",),
    ),
)
