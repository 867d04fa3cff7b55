"""The calls with `aiohttp`."""

import asyncio

import aiohttp

from calls import make_calls, url


async def main():
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        await make_calls(socket.send_str, (message.data async for message in socket))


asyncio.run(main())
