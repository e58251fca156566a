"""Asks an MCP server through PyPI's `mcp` what lines of JSON on standard input say, and prints an answer to each, in
the order in which they come: tests/src/bin/e2e_mcp_clients.rs knows what to ask.

usage: python pypi.py auto|legacy PROGRAM
"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters

MODE, PROGRAM = sys.argv[1:]
# The library passes on a few variables only; ours are said as a user would say them in a client's settings.
OURS = {name: value for name, value in os.environ.items() if name.startswith("THROUGHLINE")}


def show(answer):
    print(json.dumps(answer), flush=True)


async def do(client, asked):
    match asked["do"]:
        case "tools":
            return await client.list_tools()
        case "prompts":
            return await client.list_prompts()
        case "resources":
            return await client.list_resources()
        case "templates":
            return await client.list_resource_templates()
        case "call":
            return await client.call_tool(asked["name"], asked["arguments"])
        case "prompt":
            return await client.get_prompt(asked["name"], asked["arguments"])
        case "read":
            return await client.read_resource(asked["uri"])
        case "ping":
            # The newer era has no ping; a client asks the server who it is.
            newer = client.session.send_discover
            return await (client.send_ping() if MODE == "legacy" else newer(client.protocol_version))


async def answer(client, asked):
    try:
        result = await do(client, asked)
        if hasattr(result, "model_dump"):
            result = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        show({"id": asked["id"], "result": result})
    except Exception as error:
        show({"id": asked["id"], "error": str(error)})


async def main():
    lines = anyio.wrap_file(sys.stdin)
    first = json.loads(await lines.readline())
    async with Client(StdioServerParameters(command=PROGRAM, env=OURS), mode=MODE) as client:
        name, protocol = client.server_info.name, client.protocol_version
        hello = {"name": name, "protocol": protocol, "instructions": client.instructions}
        show({"id": first["id"], "result": hello})
        async with anyio.create_task_group() as tasks:
            async for line in lines:
                asked = json.loads(line)
                if asked["do"] == "close":
                    break
                # Each begins at once: one that takes long must not keep the next from being asked.
                tasks.start_soon(answer, client, asked)
    show({"id": asked["id"], "result": None})


anyio.run(main)
