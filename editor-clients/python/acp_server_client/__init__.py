"""An asyncio client for agents that speak the Agent Client Protocol on stdio; needs nothing but Python.

async with Client(["acp-server", "acp"]) as client:
    session = await client.new_session("/path/to/project")
    turn = session.prompt("What does this project do?")
    async for update in turn:
        print(update.text, end="")
    print(await turn.stop_reason)
"""

from acp_server_client.client import Client, Permission, allow_nothing, allow_once
from acp_server_client.session import Session, Turn, Update
from acp_server_client.wire import AgentDied, AgentError

__all__ = [
    "AgentDied",
    "AgentError",
    "Client",
    "Permission",
    "Session",
    "Turn",
    "Update",
    "allow_nothing",
    "allow_once",
]
