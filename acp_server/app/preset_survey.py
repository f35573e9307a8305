"""Which presets sessions in a directory can have, without serving anybody; for `acp-server presets`."""

from __future__ import annotations

from collections.abc import Mapping

from acp_server.agent.presets import Offer, offered
from acp_server.app.places import account_home, find_places
from acp_server.app.preset_book import PresetBook
from acp_server.app.skill_book import SkillBook


def survey_presets(environment: Mapping[str, str], cwd: str) -> Offer:
    """Return what can be chosen there, and what is wrong; raise ServerError where no home is known."""
    places = find_places(environment, account_home)
    skills = SkillBook(places)
    return offered((PresetBook(places, skills.brought, skills.trusted).offer,), cwd)
