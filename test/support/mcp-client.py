"""The plain client of the MCP SDK for Python: an allow, a deny, and a call that a person approves. Prints one line of JSON."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main(url: str) -> None:
    async with streamable_http_client(url) as streams, ClientSession(streams[0], streams[1]) as session:
        hello = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        allowed = await session.call_tool("list_files", {})
        denied = await session.call_tool("delete_file", {"path": "notes/todo.txt"})
        approved = await session.call_tool("wire_transfer", {"from": "operating", "to": "vendor", "amount": 25})
        await session.send_ping()
        said = {
            "version": hello.protocol_version,
            "tools": tools,
            "allowed": [allowed.is_error, allowed.content[0].text],
            "denied": [denied.is_error, denied.content[0].text],
            "approved": [approved.is_error, approved.content[0].text],
        }
        print(json.dumps(said))


asyncio.run(main(sys.argv[1]))
