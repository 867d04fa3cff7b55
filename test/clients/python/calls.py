"""Makes the calls of the table over a WebSocket of one library, and prints a line of JSON for each.

Arguments: the address of the service and the file of the table.
"""

import asyncio
import json
import sys
import uuid

url = sys.argv[1]
with open(sys.argv[2], encoding="utf-8") as file:
    table = json.load(file)


class Line:
    """The messages that came, in their order. `send` of the library sends a text."""

    def __init__(self, send):
        self.send = send
        self.came = []
        self.news = asyncio.Condition()

    async def listen(self, texts):
        async for text in texts:
            message = {"method": "pong"} if text == "pong" else json.loads(text)
            async with self.news:
                self.came.extend(message if isinstance(message, list) else [message])
                self.news.notify_all()

    async def until(self, holds):
        async with self.news:
            await self.news.wait_for(holds)


async def make_calls(send, texts):
    """`send` takes a text. `texts` is an asynchronous iterator of the received texts."""
    line = Line(send)
    listening = asyncio.create_task(line.listen(texts))
    for entry in table:
        made = asyncio.create_task(make_call(line, entry))
        # The end of the connection ends the wait for an answer.
        await asyncio.wait({made, listening}, return_when=asyncio.FIRST_COMPLETED)
        if not made.done():
            sys.exit(f"{entry['call']}: the connection is gone: {listening}")
        print(json.dumps(await made), flush=True)
    listening.cancel()


async def make_call(line, entry):
    begin = len(line.came)
    since = lambda: line.came[begin:]
    sent = [] if entry["send"] == "ping" else entry["send"]
    requests = [payload(one) for one in sent]
    ids = [request.get("id") for request in requests]
    answer = lambda id: next((one for one in since() if "method" not in one and same(one["id"], id)), None)
    if entry["send"] == "ping":
        await line.send("ping")
        await line.until(lambda: {"method": "pong"} in since())
    elif entry.get("isBatch"):
        await line.send(json.dumps(requests))
    else:
        for one, request in zip(sent, requests):
            if "after" in one:
                await line.until(lambda: answer(ids[one["after"]]) is not None)
            await line.send(json.dumps(request))
    expected = [id for id in ids if id is not None]
    await line.until(lambda: all(answer(id) is not None for id in expected))
    names = {hears["method"] for hears in entry.get("hears", [])}
    await line.until(lambda: names <= {one.get("method") for one in since()})
    bare = lambda one: one and {key: one[key] for key in ("result", "error") if key in one}
    return {
        "call": entry["call"],
        "answers": ["pong"] if entry["send"] == "ping" else [bare(id is not None and answer(id) or None) for id in ids],
        "order": [one["method"] if "method" in one else place(one["id"], ids) for one in since()],
        "heard": [one for one in since() if "method" in one],
    }


def payload(one):
    request = {"jsonrpc": "2.0", "method": one["method"]}
    if "params" in one:
        request["params"] = one["params"]
    if not one.get("isNotification"):
        request["id"] = one.get("id", str(uuid.uuid4()))
    return request


def same(one, other):
    return type(one) is type(other) and one == other


def place(id, ids):
    return next((at for at, one in enumerate(ids) if same(one, id)), -1)
