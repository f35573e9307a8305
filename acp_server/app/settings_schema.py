"""What may stand in settings, patches and bundles, as models.

Owns every key, its type and its range (docs/settings.md lists them; schemas/settings.schema.json is made from here).
Loaded only when there is a file to check: pydantic takes a tenth of a second. How a breach is told: `breaches`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, model_validator

PositiveInt = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Milliseconds = Annotated[int, Field(ge=0, le=2**31 - 1)]
Price = Annotated[float, Field(ge=0)]
Words = Annotated[str, Field(min_length=1)]
KNOWN_SERVERS: Final = ("ty", "basedpyright", "ruff", "typescript")
Dialect = Literal[
    "generic", "openai", "deepseek", "openrouter", "qwen", "kimi", "ollama", "vllm", "llama.cpp", "lm-studio"
]
ModelName = Annotated[str, Field(pattern=r"^[^\s/]+/\S+$")]


class Table(BaseModel):
    """A table that has these keys and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Key(Table):
    """Where a key comes from: exactly one of the three."""

    env: Words | None = Field(None, description="Name of the variable of the environment that holds the key.")
    file: Words | None = Field(None, description="Absolute path of a file that its owner alone may read.")
    command: Annotated[list[Words], Field(min_length=1)] | None = Field(
        None, description="Program and arguments; the first line of its output is the key."
    )

    @model_validator(mode="after")
    def one(self) -> Self:
        """Refuse none and several."""
        if sum(source is not None for source in (self.env, self.file, self.command)) != 1:
            raise ValueError("needs exactly one of env, file and command")
        return self


class Provider(Table):
    """A provider of models."""

    protocol: Literal["chat", "responses", "messages"] | None = Field(None, description="The wire protocol.")
    base_url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = Field(
        None, description="The protocol's path is joined to it."
    )
    base_url_env: Words | None = Field(None, description="A variable of the environment that wins over base_url.")
    key: Key | None = Field(None, description="Where the key comes from; without it the server wants none.")
    headers: dict[str, str] = Field({}, description="Further headers of every request.")
    models: list[Words] = Field([], description="Names of models worth listing.")
    default_model: Words | None = Field(None, description="The model that is used when nobody names one.")
    dialect: Dialect | None = Field(
        None, description="The family of servers, for the protocol chat; else told by address and name."
    )
    catalog: Words | None = Field(None, description="The provider under which the catalogue knows its models.")


class ProviderRow(Provider):
    """A provider as a row holds it."""

    name: Annotated[str, Field(pattern=r"^[^\s/]{1,100}$")]

    @model_validator(mode="after")
    def whole(self) -> Self:
        """Refuse a provider that says neither how nor where."""
        for field in ("protocol", "base_url"):
            if getattr(self, field) is None:
                raise ValueError(f"needs {field}")
        return self


class Prices(Table):
    """Prices in US dollars for a million tokens."""

    input: Price | None = None
    output: Price | None = None
    cache_read: Price | None = None
    cache_write: Price | None = None


class Model(Table):
    """Facts about a model, which win over the catalogue's."""

    name: Words | None = Field(None, description="What lists call it.")
    context_window: PositiveInt | None = Field(None, description="Tokens.")
    max_output_tokens: PositiveInt | None = Field(None, description="Tokens.")
    input: list[Literal["text", "image"]] | None = Field(None, description="What it reads.")
    efforts: list[Words] | None = Field(None, description="Reasoning efforts that it offers.")
    default_effort: Words | None = Field(None, description="The effort that is used when nobody names one.")
    prices: Prices | None = None

    @model_validator(mode="after")
    def effort_is_offered(self) -> Self:
        """Refuse a default effort that the same table does not offer."""
        if self.default_effort is not None and self.efforts is not None and self.default_effort not in self.efforts:
            raise ValueError("names a default_effort that is not among its efforts")
        return self


class Retry(Table):
    """When a failed model request is made again."""

    max_retries: Annotated[int, Field(ge=0, le=100)] | None = None
    initial_ms: Annotated[Milliseconds, Field(gt=0)] | None = None
    max_ms: Annotated[Milliseconds, Field(gt=0)] | None = None
    provider_max_ms: Milliseconds | None = Field(None, description="The longest wait that a server may ask for.")
    budget_ms: Milliseconds | None = Field(None, description="From the first try to the start of the last.")

    @model_validator(mode="after")
    def grows(self) -> Self:
        """Refuse a first wait that is longer than the longest."""
        if (self.initial_ms or 500) > (self.max_ms or 10_000):
            raise ValueError("has an initial_ms that is longer than max_ms (500 and 10000 where they are not stated)")
        return self


class Limits(Table):
    """How much and how long."""

    max_steps: PositiveInt | None = Field(None, description="Model requests of one turn at most.")
    connect_seconds: Seconds | None = None
    first_byte_seconds: Seconds | None = None
    silence_seconds: Seconds | None = Field(None, description="Between two reads of an answer.")
    progress_seconds: Seconds | None = Field(None, description="Between two events of a stream.")
    retry: Retry | None = None
    subagents: Annotated[int, Field(ge=1, le=64)] | None = Field(
        None, description="Sub-agents of one session that are at work at the same time."
    )
    subagent_depth: Annotated[int, Field(ge=0, le=4)] | None = Field(
        None, description="How deep sub-agents may start others; 0 for none at all."
    )


Ratio = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class Prune(Table):
    """How long results of tools are cut when room is needed, in characters."""

    threshold_chars: PositiveInt = Field(8192, description="Results of up to so many characters stay.")
    head_chars: Count = Field(4096, description="What stays of the beginning of a longer one.")
    tail_chars: Count = Field(1024, description="What stays of its end.")

    @model_validator(mode="after")
    def fits(self) -> Self:
        """Refuse what would leave a cut result over the threshold."""
        if self.head_chars + self.tail_chars + 512 > self.threshold_chars:
            raise ValueError("needs head_chars and tail_chars that are 512 less than threshold_chars together")
        return self


class ModelCompaction(Table):
    """When one model's conversations are compacted."""

    auto: bool | None = Field(None, description="Whether it happens by itself.")
    threshold_ratio: Ratio | None = Field(None, description="Part of the window from which on it happens; 0.8.")
    retain_ratio: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="Part of the window whose newest messages stay as they are; 0.16."
    )
    retain_tokens: Count | None = Field(None, description="The same in tokens, in the place of retain_ratio.")
    summary_model: ModelName | None = Field(None, description="Who summarises; else the conversation's own model.")
    summary_max_tokens: PositiveInt | None = Field(
        None, description="Tokens of a summary; 8192, and an eighth of the window at most."
    )
    compaction_retries: Annotated[int, Field(ge=0, le=5)] | None = Field(
        None, description="Further compactions when the first gained too little; 1."
    )
    max_overflow_retries: Annotated[int, Field(ge=0, le=5)] | None = Field(
        None, description="Compactions after which a request that was too long is made again; 1."
    )
    prune: Prune | None = None

    @model_validator(mode="after")
    def one_retain(self) -> Self:
        """Refuse both ways to say what stays, and what would never get below the threshold."""
        if self.retain_ratio is not None and self.retain_tokens is not None:
            raise ValueError("has both retain_ratio and retain_tokens")
        if self.retain_tokens is None and not _below(self.retain_ratio, self.threshold_ratio):
            raise ValueError("has a retain_ratio that is not below threshold_ratio (0.16 and 0.8 where not stated)")
        return self


class Compaction(ModelCompaction):
    """When conversations are compacted, to stay within their model's window."""

    models: dict[ModelName, ModelCompaction] = Field({}, description='Other values for models, by "provider/model".')

    @model_validator(mode="after")
    def models_fit(self) -> Self:
        """Refuse a model whose values contradict those that it inherits."""
        for name, own in self.models.items():
            retain, threshold = own.retain_ratio or self.retain_ratio, own.threshold_ratio or self.threshold_ratio
            if own.retain_tokens is None and not _below(retain, threshold):
                raise ValueError(f"has for {name} a retain_ratio that is not below threshold_ratio")
        return self


def _below(retain: float | None, threshold: float | None) -> bool:
    return (0.16 if retain is None else retain) < (0.8 if threshold is None else threshold)


class Title(Table):
    """Who gives sessions their titles."""

    by: Literal["words", "model"] | None = Field(
        None, description="The first words of the person, or a model that is asked beside the first turn; words."
    )
    model: ModelName | None = Field(None, description="Who is asked; else the conversation's own model.")


class Log(Table):
    """The diagnostic log. `--log` on the command line wins."""

    file: Annotated[str, Field(pattern=r"^/")] | None = None
    level: Literal["error", "info", "debug", "trace"] | None = None


class Consent(Table):
    """What is asked."""

    remember: Literal["session", "project", "never"] | None = Field(
        None, description="How long the yes holds that is remembered when a person is asked."
    )


class Sandbox(Table):
    """What commands may touch."""

    network: Literal["off", "allow-list", "on"] | None = Field(
        None, description="What commands may reach, unless a session says otherwise."
    )
    hosts: list[Annotated[str, Field(pattern=r"^(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$")]] = Field(
        [], description="Hosts of the allow-list: names, or *.suffix for what lies beneath."
    )


class Variable(Table):
    """A value that is in the environment of the server."""

    env: Words = Field(description="Name of the variable.")


class McpServerTable(Table):
    """A server of the Model Context Protocol: a program, or an address."""

    command: Words | None = Field(None, description="The program, a path or a name in PATH.")
    args: list[str] = []
    env: dict[Words, str | Variable] = Field({}, description="Further variables of the program.")
    url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = Field(None, description="Its address.")
    headers: dict[Words, str | Variable] = Field({}, description="Further headers of every request.")
    tools: list[Words] | None = Field(None, description="Its tools that are used, by its own names; else all.")
    call_seconds: Seconds | None = Field(None, description="How long a call may be silent.")


class McpServerRow(McpServerTable):
    """A server as a row holds it."""

    name: Annotated[str, Field(pattern=r"^[^\s/]{1,100}$")]

    @model_validator(mode="after")
    def one_way(self) -> Self:
        """Refuse a server that is reached in no way, or in two."""
        if (self.command is None) == (self.url is None):
            raise ValueError("needs either command or url")
        return self


Name = Annotated[str, Field(pattern=r"^[^\s/]{1,100}$")]


class LanguageServerTable(Table):
    """A language server; the name of a known one (ty, basedpyright, ruff, typescript) changes that one."""

    command: Annotated[list[Words], Field(min_length=1)] | None = Field(
        None, description="Program and arguments; a path, or a name in PATH."
    )
    languages: dict[Annotated[str, Field(pattern=r"^\S+$")], Words] = Field(
        {}, description='Its files: the language by the end of their names, such as ".go" = "go".'
    )
    settings: dict[str, JsonValue] = Field({}, description="What it is told when it asks for its settings.")
    options: dict[str, JsonValue] = Field({}, description="What it is told when it starts.")
    disabled: bool = False


class Lsp(Table):
    """Language servers."""

    enabled: bool = Field(default=True, description="Whether there are any.")
    wait_seconds: Annotated[float, Field(gt=0, le=60)] = Field(
        5.0, description="How long the result of a change waits for what they find."
    )
    servers: dict[Name, LanguageServerTable] = Field({}, description="Servers beside those that are found.")

    @model_validator(mode="after")
    def whole(self) -> Self:
        """Refuse a server that is not known and does not say how it is started, or for which files."""
        for name, table in self.servers.items():
            if name not in KNOWN_SERVERS and not table.disabled and (table.command is None or not table.languages):
                raise ValueError(f"has a server {name!r} that needs command and languages")
        return self


class Web(Table):
    """What the web is read with."""

    key: Key | None = Field(None, description="The key of the searches; without one there is no web_search.")


class HookCommand(Table):
    """One command of the person's."""

    type: Literal["command"] = "command"
    command: Words = Field(description="The command line, for sh.")
    timeout: Annotated[float, Field(gt=0, le=600)] | None = Field(None, description="Seconds until it is stopped.")


class HookGroup(Table):
    """Commands for certain tools."""

    matcher: str | None = Field(None, description="A regular expression for whole names of tools; else all.")
    hooks: list[HookCommand]


class Hooks(Table):
    """Commands that are run at points of a turn, by the point."""

    SessionStart: list[HookGroup] = []
    PreToolUse: list[HookGroup] = []
    PostToolUse: list[HookGroup] = []
    UserPromptSubmit: list[HookGroup] = []
    Stop: list[HookGroup] = []
    SubagentStop: list[HookGroup] = []
    PreCompact: list[HookGroup] = []
    Notification: list[HookGroup] = []


class RowTable(Table):
    """One row."""

    id: Words
    component: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")] = Field(description="module:factory")
    config: dict[str, JsonValue] = {}
    requires: list[Words] = Field(default=[], description="Rows without which this one cannot be.")
    disabled: bool = False


class PatchTable(Table):
    """A change of rows: of one by its id, or an insertion."""

    id: Words | None = Field(None, description="The row that is changed.")
    config: dict[str, JsonValue] | None = Field(None, description="Replaces the whole config of the row.")
    disabled: bool | None = None
    insert: list[RowTable] | None = None
    before: Words | None = None
    after: Words | None = None

    @model_validator(mode="after")
    def one_kind(self) -> Self:
        """Refuse a patch that says nothing, or two things."""
        if self.insert is None:
            if self.id is None or (self.config is None and self.disabled is None):
                raise ValueError("needs an id with config or disabled, or rows to insert")
            if self.before is not None or self.after is not None:
                raise ValueError("has before or after without rows to insert")
        elif self.id is not None or self.config is not None or self.disabled is not None:
            raise ValueError("either changes a row or inserts rows, not both")
        elif self.before is not None and self.after is not None:
            raise ValueError("has both before and after")
        return self


class Settings(Table):
    """The settings of the server: one file, settings.toml."""

    model: ModelName | None = Field(None, description="provider/model of sessions for which nobody names one.")
    persistence: Literal["disk", "memory"] | None = Field(None, description="Whether sessions outlive the process.")
    shell: Literal["sandbox", "editor"] | None = Field(
        None, description="Where commands run; in a terminal of the editor they are not confined, and each is asked."
    )
    providers: dict[Annotated[str, Field(pattern=r"^[^\s/]{1,100}$")], Provider] = {}
    models: dict[ModelName, Model] = Field({}, description='Facts about models, by "provider/model".')
    mcp: dict[Annotated[str, Field(pattern=r"^[^\s/]{1,100}$")], McpServerTable] = Field(
        {}, description="MCP servers that every session has."
    )
    limits: Limits | None = None
    compaction: Compaction | None = None
    title: Title | None = None
    log: Log | None = None
    consent: Consent | None = None
    sandbox: Sandbox | None = None
    lsp: Lsp | None = None
    web: Web | None = None
    hooks: Hooks | None = None
    patch: list[PatchTable] = Field([], description="Changes of the rows that the process is made of.")


class PatchFile(Table):
    """A file of patches, as --patch takes it."""

    patch: list[PatchTable] = []


class ProfileFile(Table):
    """A profile: its bundles and its own patches."""

    bundles: list[Words]
    patch: list[PatchTable] = []


class PluginTable(Table):
    """An installed package of plugins, and the rows it brought."""

    package: Words
    version: str
    folder: Words
    rows: list[RowTable] = []


class PluginFile(Table):
    """What `acp-server plugin` has installed into a profile."""

    plugin: list[PluginTable] = []


class BundleFile(Table):
    """A bundle."""

    rows: list[RowTable] = []


class DefaultModel(Table):
    """The config of the row default-model."""

    model: ModelName | None = None


class Store(Table):
    """The config of the row store."""

    persistence: Literal["disk", "memory"] = "disk"


class Tools(Table):
    """The config of the row tools."""

    shell: Literal["sandbox", "editor"] = "sandbox"


class Identity(Table):
    """The config of the row identity."""

    text: Words | None = None


class Surroundings(Table):
    """The config of the row surroundings."""

    date: bool = False


class Models(RootModel[dict[ModelName, Model]]):
    """The config of the row models."""


class Nothing(Table):
    """The config of a row that has none."""


_PARTS: Final = "acp_server.app.parts"
CONFIGS: Final[Mapping[str, type[BaseModel]]] = {
    f"{_PARTS}.process:log": Log,
    f"{_PARTS}.process:store": Store,
    f"{_PARTS}.process:limits": Limits,
    f"{_PARTS}.models:default_model": DefaultModel,
    f"{_PARTS}.models:overrides": Models,
    f"{_PARTS}.models:provider": ProviderRow,
    f"{_PARTS}.models:scripted": Nothing,
    f"{_PARTS}.tools:standard": Tools,
    f"{_PARTS}.lsp:servers": Lsp,
    f"{_PARTS}.subagents:subagents": Nothing,
    f"{_PARTS}.asking:asking": Nothing,
    f"{_PARTS}.consent:consent": Consent,
    f"{_PARTS}.compaction:keeper": Compaction,
    f"{_PARTS}.consent:sandbox": Sandbox,
    f"{_PARTS}.mcp:server": McpServerRow,
    f"{_PARTS}.prompt:identity": Identity,
    f"{_PARTS}.prompt:project_directory": Nothing,
    f"{_PARTS}.prompt:title": Title,
    f"{_PARTS}.prompt:surroundings": Surroundings,
    f"{_PARTS}.prompt:instructions": Nothing,
    f"{_PARTS}.skills:skills": Nothing,
    f"{_PARTS}.presets:presets": Nothing,
    f"{_PARTS}.web:web": Web,
    f"{_PARTS}.hooks:hooks": Hooks,
    f"{_PARTS}.front:acp": Nothing,
    f"{_PARTS}.front:commands": Nothing,
    f"{_PARTS}.front:headless": Nothing,
}
"""The models of the configs of our own components; those of others check theirs themselves."""
