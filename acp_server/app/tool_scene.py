"""What the tools of a session work in, and who consents: made once a session's first turn is near."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from acp_server.agent.consent.approvals import Approvals, Asker, Remembered
from acp_server.agent.consent.judge import Surroundings
from acp_server.agent.network import Reach
from acp_server.agent.presets import preset_of
from acp_server.agent.toolbox import Scene, Toolbox, ToolTable
from acp_server.agent.tools import CallPlace
from acp_server.app.beside import SessionBeside
from acp_server.app.kept_rules import RuleFile
from acp_server.app.places import account_home, find_places
from acp_server.app.registries import SandboxChoice
from acp_server.app.trust import NAME as TRUST_FILE
from acp_server.base.ports import Attachments, Ids, Journal
from acp_server.messages.request import CallConfig
from acp_server.sandbox.facts import Host
from acp_server.sandbox.host import read_host
from acp_server.sandbox.lists import within
from acp_server.sandbox.policy import Network, Policy
from acp_server.sandbox.verdict import verdict
from acp_server.session.session import Session
from acp_server.tools.client_side import ClientSide
from acp_server.tools.tool import Effect

REASONS = ("outside", "secret", "protected")
"""Why a fence refuses a path."""


def make_tools(
    session: Session,
    tools: ToolTable,
    asker: Asker,
    *,
    environment: Mapping[str, str],
    beside: SessionBeside,
    journal: Journal,
    attachments: Attachments,
    reads_images: Callable[[CallConfig], bool],
    ids: Ids,
    progress: Callable[[str, str], None],
    client: ClientSide,
    remember: Callable[[], Remembered],
    sandbox: Callable[[], SandboxChoice],
    roots: Callable[[], tuple[str, ...]],
    readable: Callable[[], tuple[str, ...]] = lambda: (),
) -> tuple[Toolbox, Approvals]:
    """Return the toolbox of a session and the consent for its calls."""
    workspace = os.path.realpath(session.header.cwd or "/")
    places = find_places(environment, account_home)
    host = read_host(environment, places.state, (places.state, places.config, places.cache))

    def policy(place: CallPlace) -> Policy:
        call_id = place.call.id
        return Policy(
            approvals.level(call_id),
            workspace,
            roots(),
            approvals.network(call_id),
            (*approvals.granted(call_id), *kept_for(box.effect(place))),
            approvals.hides_secrets(call_id),
            tuple(map(os.path.realpath, approvals.denied(call_id))),
        )

    def kept_for(effect: Effect | None) -> tuple[str, ...]:
        if effect is None or effect.kind != "read":
            return ()
        folder = beside.folder
        inherited = (os.path.realpath(path) for path in effect.paths if beside.inherits(path))
        return (*(() if folder is None else (str(folder),)), *inherited, *readable())

    def network(reach: Reach | None) -> Network:
        choice = sandbox()
        return Network(reach or choice.network, choice.hosts)

    def sees() -> bool:
        header = session.request_header()
        return header is not None and reads_images(header.config)

    def offers(name: str) -> bool:
        return preset_of(session.events).offers(name)

    box = Toolbox(
        tools,
        Scene(
            session,
            workspace,
            policy,
            progress,
            beside,
            client=client,
            keep_image=attachments.put,
            sees=sees,
            offers=offers,
        ),
    )
    kept = RuleFile(lambda: places.config)
    outside, secret, protected = (partial(_is, reason, workspace, roots, host) for reason in REASONS)

    def own(path: str) -> bool:
        return beside.holds(path) or any(within(os.path.realpath(path), place) for place in readable())

    rule_files = [os.path.realpath(path) for path in (kept.path, f"{places.state}/{TRUST_FILE}")]

    def ruling(path: str) -> bool:
        return os.path.realpath(path) in rule_files

    surroundings = Surroundings(outside, secret, protected, own, ruling, os.path.realpath)
    approvals = Approvals(
        session,
        box,
        surroundings,
        asker,
        journal=journal,
        ids=ids,
        kept=kept,
        project=workspace,
        remember=remember,
        network=network,
    )
    return box, approvals


def _is(reason: str, workspace: str, roots: Callable[[], tuple[str, ...]], host: Host, path: str) -> bool:
    """Return whether the fence would refuse a change of that path for that reason; inside is what is not outside."""
    refused = verdict("write", os.path.realpath(path), Policy("workspace-write", workspace, roots()), host)
    found = refused is not None and refused.reason == reason
    return not found if reason == "outside" else found
