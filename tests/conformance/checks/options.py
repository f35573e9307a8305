"""Modes, config options and commands (clauses M-01 to M-18)."""

from __future__ import annotations

from tests.conformance.check import NotJudgedError, code_of, expect, may, must, should
from tests.conformance.checks.probe import METHOD, PARAMS, expect_code
from tests.conformance.kit import Kit, updates
from tests.support.client import Client
from tests.support.trace import Obj

CATEGORIES = frozenset({"mode", "model", "model_config", "thought_level"})


def opened(kit: Kit) -> tuple[Client, Obj]:
    """Return the ordinary client and the result of a session/new of it."""
    client, _ = kit.session()
    return client, kit.opening(client)


def modes(result: Obj) -> Obj:
    found = result.get("modes")
    if not found:
        raise NotJudgedError("there are no modes")
    return dict(found)


def config(result: Obj) -> list[Obj]:
    found = result.get("configOptions")
    if not found:
        raise NotJudgedError("there are no config options")
    return list(found)


def choices(option: Obj) -> list[str]:
    """Return the values of a select, out of their groups."""
    flat = [one for entry in option.get("options", []) for one in entry.get("options", [entry])]
    return [str(one["value"]) for one in flat]


def other(option: Obj) -> str | None:
    return next((value for value in choices(option) if value != option["currentValue"]), None)


def changeable(options: list[Obj]) -> tuple[Obj, str]:
    """Return a select with another value than its current one."""
    for option in options:
        value = other(option) if option["type"] == "select" else None
        if value is not None:
            return option, value
    raise NotJudgedError("no option has two values")


@must("M-01", "the current mode is one of the modes")
def current(kit: Kit) -> None:
    told = modes(opened(kit)[1])
    ids = [mode["id"] for mode in told["availableModes"]]
    expect(told["currentModeId"] in ids, f"{told['currentModeId']} is none of {ids}")
    expect(len(set(ids)) == len(ids), f"the ids are {ids}")


@must("M-02", "session/set_mode takes each mode, and an unknown one is -32602")
def set_mode(kit: Kit) -> None:
    client, result = opened(kit)
    session = result["sessionId"]
    for mode in modes(result)["availableModes"]:
        answer = kit.call(client, "session/set_mode", {"sessionId": session, "modeId": mode["id"]})
        expect("result" in answer, f"{mode['id']}: {answer}")
    answer = kit.call(client, "session/set_mode", {"sessionId": session, "modeId": "no-such-mode"})
    expect_code(answer, PARAMS, "an unknown mode")


@must("M-03", "it may be said while a turn runs")
def in_a_turn(kit: Kit) -> None:
    client = kit.fresh()
    result = kit.opening(client)
    session, mode = result["sessionId"], modes(result)["availableModes"][-1]["id"]
    running = kit.ask(client, session, {"text": "", "hang": True})
    kit.settle(client)
    answer = kit.call(client, "session/set_mode", {"sessionId": session, "modeId": mode})
    client.notify("session/cancel", {"sessionId": session})
    kit.done(client, running)
    expect("result" in answer, f"{answer}")


@must("M-04", "each option has a current value that is one of its values")
def values(kit: Kit) -> None:
    for option in config(opened(kit)[1]):
        fine = isinstance(option["currentValue"], bool) if option["type"] == "boolean" else True
        if option["type"] == "select":
            fine = option["currentValue"] in choices(option)
        expect(fine, f"{option['id']} is {option['currentValue']!r}")


@must("M-05", "a client without boolean options is given none")
def booleans(kit: Kit) -> None:
    found = [option["id"] for option in config(opened(kit)[1]) if option["type"] == "boolean"]
    expect(not found, f"{found}")


@must("M-06", "session/set_config_option answers with the whole list")
def whole(kit: Kit) -> None:
    client, result = opened(kit)
    option, value = changeable(config(result))
    params = {"sessionId": result["sessionId"], "configId": option["id"], "value": value}
    found = kit.result(client, "session/set_config_option", params)["configOptions"]
    now = {one["id"]: one["currentValue"] for one in found}
    expect(now.get(option["id"]) == value, f"{option['id']} was set to {value} and is {now.get(option['id'])}")
    expect(len(found) >= max(min(2, len(config(result))), len(config(result)) - 1), f"it has {list(now)}")


@must("M-07", "an unknown option or value is -32602 and changes nothing")
def unknown(kit: Kit) -> None:
    client, result = opened(kit)
    option, _ = changeable(config(result))
    for ident, value in (("no-such-option", "x"), (option["id"], "no-such-value")):
        params = {"sessionId": result["sessionId"], "configId": ident, "value": value}
        expect_code(kit.call(client, "session/set_config_option", params), PARAMS, f"{ident} to {value}")
    params = {"sessionId": result["sessionId"], "configId": option["id"], "value": option["currentValue"]}
    found = kit.result(client, "session/set_config_option", params)["configOptions"]
    now = {one["id"]: one["currentValue"] for one in found}
    expect(now.get(option["id"]) == option["currentValue"], f"{option['id']} is {now.get(option['id'])}")


@must("M-08", "modes and the option of the category mode say the same")
def same(kit: Kit) -> None:
    client, result = opened(kit)
    options = [option for option in config(result) if option.get("category") == "mode"]
    told = modes(result)
    if not options:
        raise NotJudgedError("no option has the category mode")
    expect(
        options[0]["currentValue"] == told["currentModeId"], f"{options[0]['currentValue']} and {told['currentModeId']}"
    )
    session = result["sessionId"]
    value = other(options[0])
    if value is None:
        raise NotJudgedError("there is one mode")
    first = len(client.trace.frames)
    kit.result(client, "session/set_mode", {"sessionId": session, "modeId": value})
    kit.settle(client)
    shown = [u for u in updates(client, session, first) if u["sessionUpdate"] == "config_option_update"]
    now = [o["currentValue"] for u in shown for o in u["configOptions"] if o["id"] == options[0]["id"]]
    expect(now[-1:] == [value], f"session/set_mode {value} makes the option {now[-1:] or 'nothing'}")


@should("M-09", "both modes and config options are offered")
def both(kit: Kit) -> None:
    _, result = opened(kit)
    if not result.get("modes") and not result.get("configOptions"):
        raise NotJudgedError("there is neither")
    expect(result.get("modes") and result.get("configOptions"), f"session/new has {sorted(result)}")


@should("M-10", "categories are the protocol's, or have an underscore")
def categories(kit: Kit) -> None:
    found = {option.get("category") for option in config(opened(kit)[1])} - {None}
    odd = [name for name in found if name not in CATEGORIES and not str(name).startswith("_")]
    expect(not odd, f"{odd}")


@must("M-12", "a value may come without a type, and with an unknown one")
def types(kit: Kit) -> None:
    client, result = opened(kit)
    option, value = changeable(config(result))
    base = {"sessionId": result["sessionId"], "configId": option["id"]}
    for more in ({"value": value}, {"value": option["currentValue"], "type": "of_the_future"}):
        answer = kit.call(client, "session/set_config_option", {**base, **more}, odd=True)
        expect("result" in answer, f"{more}: {answer}")


@should("M-13", "a change comes back with the session")
def kept(kit: Kit) -> None:
    kit.need("loadSession")
    client = kit.fresh()
    result = kit.opening(client)
    option, value = changeable(config(result))
    session = result["sessionId"]
    kit.result(client, "session/set_config_option", {"sessionId": session, "configId": option["id"], "value": value})
    kit.plain_turn(client, session)
    client.agent.end()
    params = {"sessionId": session, "cwd": str(kit.project), "mcpServers": []}
    again = kit.result(kit.fresh(), "session/load", params)
    now = {one["id"]: one["currentValue"] for one in again.get("configOptions") or []}
    expect(now.get(option["id"]) == value, f"{option['id']} was set to {value} and is {now.get(option['id'])}")


@may("M-14", "session/set_model sets the option of the category model, or is -32601")
def set_model(kit: Kit) -> None:
    client, result = opened(kit)
    models = [option for option in config(result) if option.get("category") == "model"]
    if not models:
        raise NotJudgedError("no option has the category model")
    params = {"sessionId": result["sessionId"], "modelId": models[0]["currentValue"]}
    answer = kit.call(client, "session/set_model", params, odd=True)
    expect(code_of(answer) in {"result", METHOD}, f"{answer}")


@should("M-17", "text with a leading slash that is no command goes to the model")
def slashes(kit: Kit) -> None:
    client, session = kit.session()
    kit.turn(client, session, text="/usr/bin/no-such-command is a path")
    expect(kit.asked("/usr/bin/no-such-command is a path"), "it does not reach the model")
