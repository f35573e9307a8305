"""The plugin for Neovim as a person sees it: real keys in a terminal, the real server (editor-clients/neovim)."""

from __future__ import annotations

import os
import re
import signal

from tests.e2e.neovim.person import Person

READ = 'call read {"path": "notes.txt"}'
EDIT = 'call edit {"path": "notes.txt", "old_string": "second", "new_string": "changed\\nand more"}'
ASK = 'call ask {"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}'
LIST = "Type number and <Enter>"
"""What Neovim's own vim.ui.select shows below its choices."""


def test_text_streams_while_the_person_writes_on(person: Person) -> None:
    person.open()
    person.ask("think one moment", "chunks words", "pace 100", "say " + "word " * 60 + "last-word")
    part = person.screen.wait("▸ Thought  1 line", "Ctrl-C stops", lambda text: "word" in text.split("1 line")[-1])
    assert part.count("last-word") == 1
    person.screen.type("written meanwhile")
    whole = person.screen.wait("▸ Thought  1 line", lambda text: text.count("last-word") == 2, "written meanwhile")
    person.screen.wait("Enter sends")
    person.keep("streaming", whole)


def test_an_edit_is_decided_beside_its_diff(person: Person) -> None:
    person.open()
    person.ask("say I look first.", READ, "step", EDIT, "step", "say It is **done**.")
    asked = person.screen.wait("now: notes.txt", "proposed: notes.txt", "Edit notes.txt?", "1: Allow once", LIST)
    assert re.search(r"second\s*│\s*changed", asked)
    assert re.search(r"---\s*│\s*and more", asked)
    assert person.file("notes.txt").read_text("utf-8") == "first\nsecond\nthird\n"
    person.keep("permission", asked)
    person.screen.keys("1", "Enter")
    done = person.screen.wait(
        "It is **done**.", "✓ Edit notes.txt", "✓ Read notes.txt", "and more", "Enter sends", "-- INSERT --"
    )
    assert person.file("notes.txt").read_text("utf-8") == "first\nchanged\nand more\nthird\n"
    assert "proposed" not in done
    assert done.splitlines()[1].startswith("changed")  # the open buffer was read again
    assert re.search(r"\d%", done.splitlines()[0])
    person.keep("edited", done)
    person.escape()
    person.screen.keys("C-w", "k")
    person.screen.type("gg/Edit notes")
    person.screen.keys("Enter")
    person.screen.wait("```diff")
    person.screen.keys("Tab")
    person.screen.wait("✓ Edit notes.txt +2 -1  ", lambda text: "```diff" not in text)
    person.screen.keys("Tab")
    card = person.screen.wait("```diff", "+changed", "-second", "→ Allow once")
    person.keep("card", card)


def test_turning_away_from_a_question_decides_nothing(person: Person) -> None:
    person.open()
    person.ask('call write {"path": "new.txt", "content": "x\\n"}', "step", "say as you like")
    person.screen.wait("Write new.txt?", LIST)
    person.screen.keys("q", "Enter")
    person.screen.wait("proposed: new.txt", lambda text: LIST not in text)
    person.command("Acp decide")
    person.screen.wait("Write new.txt?", LIST)
    person.screen.keys("3", "Enter")
    person.screen.wait("✗ Write new.txt", "as you like")
    assert not person.file("new.txt").exists()


def test_a_turn_is_stopped_and_what_waited_is_given_back(person: Person) -> None:
    person.open()
    person.ask("say begun", "hang")
    person.screen.wait("begun", "Enter queues · Ctrl-C stops")
    person.screen.type("the next one")
    person.screen.keys("C-s")
    waiting = person.screen.wait("· 1 waiting")
    person.keep("waiting", waiting)
    person.escape()
    person.screen.keys("C-c")
    person.screen.wait("> Stopped.", "Enter sends", lambda text: "the next one" in person.prompt(text))


def test_conversations_are_chosen_renamed_forked_and_deleted(person: Person) -> None:
    person.open()
    person.ask("say alpha answer")
    person.screen.wait(lambda text: text.count("alpha answer") == 2)
    person.command("Acp new")
    person.screen.wait("New conversation", "· Ask", lambda text: "alpha answer" not in text)
    person.ask("say beta answer")
    person.screen.wait(lambda text: text.count("beta answer") == 2)
    person.command("Acp rename the second one")
    person.screen.wait("the second one · Ask")
    person.command("Acp sessions")
    chosen = person.screen.wait("1: ○ the second one", "2: ○ @script", LIST)
    person.keep("sessions", chosen)
    person.screen.keys("2", "Enter")
    person.screen.wait("alpha answer", lambda text: "beta answer" not in text)
    person.command("Acp fork")
    person.screen.wait("· Ask", "alpha answer", "-- INSERT --")
    person.command("Acp delete")
    shown = person.screen.wait("Delete which conversation", "3: ", LIST)
    place = re.search(r"(\d): ○ the second one", shown)
    assert place
    person.screen.keys(place[1], "Enter")
    person.screen.wait("Delete the second one?", "2: Delete it")
    person.screen.keys("2", "Enter")
    person.command("Acp sessions")
    person.screen.wait("1: ", LIST, lambda text: "the second one" not in text.split("Conversation")[-1])
    person.screen.keys("q", "Enter")


def test_a_restarted_neovim_loads_the_conversation(person: Person) -> None:
    person.open()
    person.ask("think of it", "say what was said", READ)
    person.screen.wait("✓ Read notes.txt", "Done.")
    person.start_again()
    person.command("Acp sessions")
    person.screen.wait("1: @script", LIST)
    person.screen.keys("1", "Enter")
    loaded = person.screen.wait("what was said", "▸ Thought", "✓ Read notes.txt", "Done.", "· Ask")
    person.keep("loaded", loaded)
    person.ask("say and it goes on")
    person.screen.wait(lambda text: text.count("and it goes on") == 2)
    person.start_again()
    person.command("Acp continue")
    person.screen.wait("and it goes on", "· Ask")


def test_a_server_that_dies_in_mid_turn_is_started_again(person: Person) -> None:
    person.open()
    person.ask("say before the end")
    person.screen.wait(lambda text: text.count("before the end") == 2)
    person.ask("say half an answer", "hang")
    person.screen.wait(lambda text: text.count("half an answer") == 2)
    person.command("sleep 1")  # streamed text is durable at most 300 ms after it was shown (clause P-21)
    os.kill(person.pid(), signal.SIGKILL)
    back = person.screen.wait("ended by signal 9", "the conversation loaded", "half an answer", "before the end")
    person.keep("restarted", back)
    person.command("Acp open")
    person.ask("say it works again")
    person.screen.wait(lambda text: text.count("it works again") == 2)


def test_commands_and_files_are_completed(person: Person) -> None:
    person.open()
    person.screen.type("/com")
    person.screen.wait("/compact", "what to keep")
    person.screen.keys("C-u")
    person.screen.type("/he")
    person.screen.wait("/help")
    person.screen.keys("C-n", "C-s")
    person.screen.wait("rules of consent", "Enter sends")
    person.command("Acp model scripted/echo")
    person.screen.wait("Echo (scripted)")
    person.screen.keys("i")
    person.screen.type("look at @not")
    shown = person.screen.wait(lambda text: text.count("notes.txt") > 1)
    person.keep("completion", shown)
    person.screen.keys("C-n", "C-s")
    person.screen.wait("look at @notes.txt", "Enter sends")


def test_what_is_unsaved_counts(person: Person) -> None:
    person.screen.type("ccunsaved words")
    person.open()
    person.command("Acp mode auto")
    person.screen.wait("· Auto")
    person.screen.keys("i")
    edit = 'call edit {"path": "notes.txt", "old_string": "unsaved words", "new_string": "agent words"}'
    person.ask(READ, "step", edit, "step", "say changed")
    person.screen.wait("✓ Edit notes.txt", "changed", lambda text: text.splitlines()[0].startswith("agent words"))
    assert person.file("notes.txt").read_text("utf-8") == "first\nsecond\nthird\n"  # the person alone saves it
    person.command("wincmd h")
    person.screen.keys("u")
    person.screen.wait(lambda text: text.splitlines()[0].startswith("unsaved words"))


def test_mode_and_model_are_chosen(person: Person) -> None:
    person.open()
    person.escape()
    person.screen.keys("g", "m")
    person.screen.wait("1: ● Ask", "3:   Plan", LIST)
    person.screen.keys("3", "Enter")
    person.screen.wait("· Plan")
    person.screen.keys("g", "M")
    shown = person.screen.wait("Echo (scripted)", LIST)
    place = re.search(r"(\d): +Echo", shown)
    assert place
    person.screen.keys(place[1], "Enter")
    person.screen.wait("Plan · Echo (scripted)")
    person.screen.keys("BTab")
    person.screen.wait("· Full access")


def test_the_health_of_it_is_told(person: Person) -> None:
    person.command("checkhealth acp")
    shown = person.screen.wait("acp: agent", "it is acp-server", "it loads conversations: yes")
    assert "ERROR" not in shown
    person.keep("health", shown)


def test_some_lines_are_put_into_a_prompt(person: Person) -> None:
    person.open()
    person.command("Acp model scripted/echo")
    person.screen.wait("Echo (scripted)")
    person.command("wincmd h")
    person.screen.type("jVj:Acp add")
    person.screen.keys("Enter")
    person.screen.wait("@notes.txt:2-3", "-- INSERT --")
    person.screen.keys("C-s")
    person.screen.wait("Echo (scripted)", lambda text: text.count("second") > 1)


def test_a_form_is_filled_in_by_choosing(person: Person) -> None:
    person.open()
    person.ask(ASK, "step", "say chosen")
    person.screen.wait("Which colour?", "1: Red", "2: Blue", LIST)
    person.screen.keys("2", "Enter")
    person.screen.wait("chosen", "Enter sends")
    person.escape()
    person.screen.keys("C-w", "k", "z", "R")
    person.screen.wait("Blue", lambda text: "```text" in text)


def test_what_is_said_to_a_running_turn_joins_it(person: Person) -> None:
    person.open()
    person.ask("say begun", 'call bash {"command": "sleep 4"}', "step", "say not reached")
    person.screen.wait("sleep 4?", LIST)
    person.screen.keys("1", "Enter")
    person.screen.wait(lambda text: LIST not in text, "-- INSERT --")
    person.screen.paste("@script\nsay it was taken up")
    person.screen.wait(lambda text: "taken up" in person.prompt(text))
    person.escape()
    person.screen.keys("g", "Enter")
    shown = person.screen.wait(lambda text: text.count("it was taken up") == 2, "Enter sends")
    assert "waiting" not in shown
    assert shown.count("not reached") == 1


def test_the_chat_is_hidden_and_shown_while_a_turn_runs(person: Person) -> None:
    person.open()
    person.ask("say begun", "wait 3000", "say and over")
    person.screen.wait("Ctrl-C stops")
    person.command("Acp")
    person.screen.wait(lambda text: "│" not in text)
    person.command("Acp")
    person.screen.wait("│", "Enter sends", lambda text: text.count("and over") == 2)


def test_without_a_key_the_ways_to_log_in_are_offered(person: Person) -> None:
    person.model = None
    person.start_again("notes.txt")
    person.command("Acp open")
    shown = person.screen.wait("Provider key", "Demo model", LIST)
    place = re.search(r"(\d): Demo model", shown)
    assert place
    person.screen.keys(place[1], "Enter")
    person.screen.wait("· Ask", "Demo (scripted)")
    person.command("Acp open")
    person.ask("say it answers")
    person.screen.wait(lambda text: text.count("it answers") == 2)
