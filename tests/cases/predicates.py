"""The closed list of predicates of an rpc case. Each returns what is wrong; an unknown one is a fault of the case."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.cases import logfile, model_predicates
from tests.cases.rules import fill, short, subset, text_rules
from tests.cases.steps import Run
from tests.support.trace import TURN_KINDS, Frame, Item, Obj, Turn, fold, id_key, strings

ENDED = ("completed", "failed")


def judge(run: Run, expect: Obj) -> list[str]:
    """Return what is wrong with the run, judged by these predicates."""
    wrong = []
    for name, value in expect.items():
        check = PREDICATES.get(name)
        wrong += [f"unknown predicate {name}"] if check is None else check(run, value)
    return wrong


# -- answers


def responses(run: Run, wants: list[Obj]) -> list[str]:
    wrong = []
    for want in wants:
        idents = want["ids"] if "ids" in want else [want["id"]]
        answer = next((a for a in map(run.trace.answer, idents) if a is not None), None)
        if answer is None:
            wrong.append(f"no answer with id {' or '.join(map(repr, idents))}")
        else:
            wrong += [f"answer {answer.get('id')!r}: {why}" for why in one_response(want, answer)]
    return wrong


def one_response(want: Obj, answer: Obj) -> list[str]:
    wrong, error, shown = [], answer.get("error"), json.dumps(answer)[:160]
    if "is" in want and want["is"] not in answer:
        wrong.append(f"is no {want['is']}: {shown}")
    if "result_has" in want and not ("result" in answer and subset(want["result_has"], answer["result"])):
        wrong.append(f"{shown} is not {want['result_has']}")
    if "result_is" in want and not ("result" in answer and answer["result"] == want["result_is"]):
        wrong.append(f"{shown} is not {want['result_is']!r}")
    if "error_code" in want and not (isinstance(error, dict) and error.get("code") in want["error_code"]):
        wrong.append(f"{shown} is no error {want['error_code']}")
    said = "\n".join(strings(error)).lower() if error else ""
    wrong += [f"the error does not say {w!r}" for w in want.get("message_has", []) if w.lower() not in said]
    if "message_has_any" in want and not any(w.lower() in said for w in want["message_has_any"]):
        wrong.append(f"the error says none of {want['message_has_any']}")
    wrong += [f"the error shows {w!r}" for w in want.get("message_lacks", []) if w.lower() in said]
    tries = [one_response(way, answer) for way in want.get("either", [])]
    return wrong + either(tries)


def either(tries: list[list[str]]) -> list[str]:
    """Return nothing when one of several ways is without fault, else all their faults as one."""
    return ["; or ".join(", ".join(one) for one in tries)] if tries and all(tries) else []


def all_answers(run: Run) -> list[Frame]:
    return [f for f in run.trace.frames if f.way == "got" and f.is_answer()]


def response_count(run: Run, count: int) -> list[str]:
    found = len(all_answers(run))
    return [] if found == count else [f"{found} answers, not {count}"]


def error_count(run: Run, wants: dict[str, int]) -> list[str]:
    wrong = []
    for code, count in wants.items():
        found = sum((f.value.get("error") or {}).get("code") == int(code) for f in all_answers(run))
        wrong += [] if found == count else [f"{found} errors {code}, not {count}"]
    return wrong


# -- what a person sees


def turn_text(run: Run, wants: list[Obj]) -> list[str]:
    wrong = []
    for want in wants:
        turn, kind = run.trace.turn(want["prompt"]), want.get("kind", "agent_message_chunk")
        text = run.trace.turn_text(turn, kind) if turn else ""
        wrong += text_rules(run, want, text, f"{kind} of prompt {want['prompt']!r}")
    return wrong


def tool_call_final(run: Run, wants: list[str]) -> list[str]:
    items = [item for turn in run.trace.turns() for item in fold(run.trace.turn_updates(turn))]
    found = [item.status for item in items if item.kind == "tool_call"]
    return [] if found == wants else [f"tool calls end as {found}, not {wants}"]


def calls_in_order(run: Run, _: object) -> list[str]:
    return [why for turn in run.trace.turns() for why in _calls_of(run, turn)]


def _calls_of(run: Run, turn: Turn) -> list[str]:
    wrong: list[str] = []
    last: dict[str, Any] = {}
    for frame in run.trace.frames[turn.first : turn.last]:
        update = frame.update()
        if frame.way == "got" and frame.is_request("session/request_permission"):
            params = frame.value.get("params") or {}
            ident = (params.get("toolCall") or {}).get("toolCallId")
            if params.get("sessionId") == turn.session and id_key(ident) not in last:
                wrong.append(f"permission is asked for call {ident!r} before it was announced")
        elif update and update.session == turn.session and update.kind in {"tool_call", "tool_call_update"}:
            ident = update.fields.get("toolCallId")
            known = id_key(ident) in last
            if update.kind == "tool_call" and known:
                wrong.append(f"call {ident!r} is announced twice")
            if update.kind == "tool_call_update" and not known:
                wrong.append(f"an update for call {ident!r} before it was announced")
            last[id_key(ident)] = update.fields.get("status") or last.get(id_key(ident))
    unfinished = {ident: status for ident, status in last.items() if status not in ENDED}
    return wrong + [f"call {ident} stays {status}" for ident, status in unfinished.items() if turn.answered]


def no_turn_update_after(run: Run, idents: list[object]) -> list[str]:
    return [why for ident in idents for why in _late_update(run, ident)]


def _late_update(run: Run, ident: object) -> list[str]:
    turn = run.trace.turn(ident)
    if not turn or not turn.answered:
        return [f"prompt {ident!r} was not answered"]
    for frame in run.trace.frames[turn.last + 1 :]:
        if frame.proc != turn.proc or (frame.way == "sent" and frame.is_request()):
            return []
        update = frame.update()
        if update and update.session == turn.session and update.kind in TURN_KINDS:
            return [f"{update.kind} after answer {ident!r}"]
    return []


def no_update_before(run: Run, ident: object) -> list[str]:
    for n, frame in enumerate(run.trace.frames):
        if frame.way == "got" and frame.is_answer() and id_key(frame.value["id"]) == id_key(ident):
            session = (frame.value.get("result") or {}).get("sessionId")
            return [f"a session/update before answer {ident!r}"] if run.trace.updates(0, n, session) else []
    return [f"no answer {ident!r}"]


def replay(run: Run, want: Obj) -> list[str]:
    span = run.trace.load_span(want["load"])
    if span is None:
        return [f"no session/load with id {want['load']!r}"]
    items = fold(run.trace.updates(*span))
    wrong = _items_in_order(run, items, want.get("items", []))
    if want.get("only") and len(items) != len(want.get("items", [])):
        wrong.append(f"the replay has {len(items)} items: {_shown(items)}")
    return wrong + text_rules(run, want, "\n".join(item.text for item in items), "the replay")


def _items_in_order(run: Run, items: list[Item], wants: list[Obj]) -> list[str]:
    at = 0
    for want in wants:
        ((kind, rule),) = want.items()
        fitting = (n for n in range(at, len(items)) if items[n].kind == kind and _item_fits(run, items[n], rule))
        found = next(fitting, None)
        if found is None:
            return [f"the replay lacks {kind} {rule} at its place: {_shown(items)}"]
        at = found + 1
    return []


def _item_fits(run: Run, item: Item, rule: str | Obj) -> bool:
    if isinstance(rule, str):
        return item.text == fill(run, rule)
    return bool(rule.get("status", item.status) == item.status and rule.get("content_has", "") in item.text)


def _shown(items: list[Item]) -> list[tuple[str, str]]:
    return [(item.kind, item.text[:30]) for item in items]


def stdout_has(run: Run, words: list[str]) -> list[str]:
    text = "\n".join(s for f in run.trace.frames if f.way == "got" for s in strings(f.value))
    return [f"nothing on stdout says {word!r}" for word in words if word not in text]


# -- files and process


def files_have(run: Run, wants: dict[str, str]) -> list[str]:
    wrong = []
    for name, content in wants.items():
        path = run.place.project / fill(run, name)
        if not path.is_file():
            wrong.append(f"{name} is not there")
        elif path.read_bytes() != content.encode():
            wrong.append(f"{name} is {short(path.read_bytes().decode('utf-8', 'replace'))}")
    return wrong


def files_present(run: Run, names: list[str]) -> list[str]:
    return [f"{name} is not there" for name in names if not (run.place.project / fill(run, name)).exists()]


def files_absent(run: Run, names: list[str]) -> list[str]:
    return [f"{name} is there" for name in names if (run.place.project / fill(run, name)).exists()]


def exit_code(run: Run, codes: list[int]) -> list[str]:
    code = run.agent.popen.poll()
    return [] if code in codes else [f"exit code {code}, not {codes}"]


def alive(run: Run, _: object) -> list[str]:
    code = run.code_after_steps
    return [] if code is None else [f"the agent has exited with {code}"]


def stderr_max_lines(run: Run, count: int) -> list[str]:
    found = sum(run.place.stderr(proc).read_bytes().count(b"\n") for proc in range(1, run.proc + 1))
    return [] if found <= count else [f"{found} lines on stderr"]


def saved_differ(run: Run, names: list[str]) -> list[str]:
    values = [run.saved.get(name) for name in names]
    return [] if None not in values and len(set(values)) == len(values) else [f"{names} are {values}"]


def session_log(run: Run, want: Obj) -> list[str]:
    found = logfile.find(run.place.state)
    if not found:
        return ["no session log under the state directory"]
    try:
        text = "\n".join("\n".join(strings(record)) for path in found for record in logfile.records(path))
    except logfile.UnreadableError as why:
        return [str(why)]
    return text_rules(run, want, text, "the log")


def agent_requests(run: Run, wants: list[Obj]) -> list[str]:
    wrong = []
    for want in wants:
        asked = [f.value for f in run.trace.frames if f.way == "got" and f.is_request(want["method"])]
        if not any(subset(want.get("params_has", {}), one.get("params")) for one in asked):
            wrong.append(f"no {want['method']} with {want.get('params_has', {})}")
    return wrong


def either_of(run: Run, wants: list[Obj]) -> list[str]:
    return either([judge(run, want) for want in wants])


PREDICATES: dict[str, Callable[[Run, Any], list[str]]] = {
    check.__name__: check
    for check in (
        responses,
        response_count,
        error_count,
        turn_text,
        tool_call_final,
        calls_in_order,
        no_turn_update_after,
        no_update_before,
        replay,
        stdout_has,
        files_have,
        files_present,
        files_absent,
        exit_code,
        alive,
        stderr_max_lines,
        saved_differ,
        session_log,
        agent_requests,
        either_of,
        *model_predicates.ALL,
    )
}
