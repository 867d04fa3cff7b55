"""The calls with `websockets`."""

import asyncio

import websockets

from calls import make_calls, url


async def main():
    async with websockets.connect(url) as socket:
        await make_calls(socket.send, socket)


asyncio.run(main())
