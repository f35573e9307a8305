from __future__ import annotations

import pytest

from acp_server.base.errors import ServerError
from acp_server.sandbox.environment import (
    FORBIDDEN,
    is_key_variable,
    is_secret_shaped,
    key_variables,
    search_path,
    tool_environment,
)

SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PLAIN = {
    "PATH": SYSTEM,
    "HOME": "/home/ada",
    "USER": "ada",
    "LOGNAME": "ada",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "PAGER": "cat",
    "NO_COLOR": "1",
    "DEBIAN_FRONTEND": "noninteractive",
}
SECRET_VALUES = [
    "sk-" + "ant-" + "a1B2c3D4e5F6g7H8i9",
    "ghp_" + "a" * 36,
    "github_pat_" + "b" * 30,
    "glpat-" + "c" * 20,
    "xoxb-" + "1234567890-abcdef",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + "d" * 35,
    "eyJhbGciOiJI.eyJzdWIiOiIx.sig",
    "postgres://u:p4ss@db/x",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nx",
    "0123456789abcdef0123456789abcdef",
]


def made(**more: object) -> dict[str, str]:
    return tool_environment(home="/home/ada", user="ada", path=SYSTEM, **{"private": False, **more})  # type: ignore[arg-type]  # a table of keywords


def test_the_environment_is_made_of_nothing() -> None:
    assert made() == PLAIN


def test_caches_go_to_the_private_temporary_directory() -> None:
    grown = made(private=True)
    cache = "/tmp/.cache"
    assert {name: value for name, value in grown.items() if name not in PLAIN} == {
        "TMPDIR": "/tmp",
        "XDG_CACHE_HOME": cache,
        "PIP_CACHE_DIR": f"{cache}/pip",
        "UV_CACHE_DIR": f"{cache}/uv",
        "npm_config_cache": f"{cache}/npm",
        "YARN_CACHE_FOLDER": f"{cache}/yarn",
        "GOCACHE": f"{cache}/go-build",
        "RUFF_CACHE_DIR": f"{cache}/ruff",
        "MYPY_CACHE_DIR": f"{cache}/mypy",
    }


def test_named_variables_are_added() -> None:
    assert made(added={"JAVA_HOME": "/opt/java"}, timezone="Europe/Berlin") == {
        **PLAIN,
        "JAVA_HOME": "/opt/java",
        "TZ": "Europe/Berlin",
    }


@pytest.mark.parametrize(
    "name", [*sorted(FORBIDDEN), "LD_BIND_NOW", "GIT_CONFIG_COUNT", "BASH_FUNC_x%%", "a b", "1A", ""]
)
def test_what_runs_code_is_refused(name: str) -> None:
    with pytest.raises(ServerError) as refused:
        made(added={name: "x"})
    assert refused.value.code == "FORBIDDEN_VARIABLE"


@pytest.mark.parametrize("value", SECRET_VALUES)
def test_a_value_that_looks_like_a_secret_is_refused_unless_marked(value: str) -> None:
    with pytest.raises(ServerError) as refused:
        made(added={"PLAIN_NAME": value})
    assert (refused.value.code, value in refused.value.message) == ("SECRET_IN_ENVIRONMENT", False)
    assert made(added={"PLAIN_NAME": value}, marked=frozenset({"PLAIN_NAME"}))["PLAIN_NAME"] == value


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "PASSPHRASE",
        "DATABASE_URL",
        "DSN",
        "SENTRY_DSN",
        "DB_PASSWORD",
        "NPM_AUTH",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "REDIS_URL",
        "MONGODB_URI",
        "PASS",
        "apikey",
    ],
)
def test_a_name_that_says_secret_is_one(name: str) -> None:
    assert [is_key_variable(name), is_secret_shaped(name, "x")] == [True, True]


@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "MONKEY", "AUTHOR", "COMPASS", "TOKENIZERS_PARALLELISM", "PWD"])
def test_a_name_that_only_sounds_like_it_is_none(name: str) -> None:
    assert is_key_variable(name) is False


@pytest.mark.parametrize("value", ["/opt/java/lib/jvm/java-17-openjdk-amd64", "1", "true", "production", "a" * 40])
def test_an_ordinary_value_is_no_secret(value: str) -> None:
    assert is_secret_shaped("SETTING", value) is False


def test_keys_of_the_server_are_listed_by_name() -> None:
    assert key_variables(["PATH", "ZAI_API_KEY", "HF_TOKEN", "HOME"]) == ("HF_TOKEN", "ZAI_API_KEY")


def test_the_search_path_holds_no_place_that_tools_can_write() -> None:
    listed = "/ws/node_modules/.bin:bin:./x::/opt/tools/:/opt/../ws/bin:/usr/bin:/ws:/extra/bin:/ws2/bin"
    assert search_path(listed, ("/ws", "/extra")) == (
        "/opt/tools:/usr/bin:/ws2/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin"
    )
