"""A program of a user of packaging/python/tapdeck, whose parent folder is in PYTHONPATH. It prints JSON, a value a line.

user.py plain URL                on the device itself
user.py pair URL CODE            pairs and connects; waits for two launches; then for the end of the connection
user.py refused URL CODE         pairs with a wrong code, and connects with an unknown identity
user.py wrong-secret URL ID      connects with another secret than that of ID
"""

import asyncio
import json
import sys

import tapdeck


def tell(*values):
    print(json.dumps(values), flush=True)


async def plain(url):
    async with tapdeck.connect(url) as client:
        with client.subscribe() as heard:
            await client.call("launch", "**delay:1")
            async for method, _params in heard:
                if method == "running":
                    break
        # Sixteen calls at once, of which one is refused.
        calls = [client.call("version") for _ in range(15)]
        *versions, refusal = await asyncio.gather(*calls, client.call("mappings.delete", {"id": 99}), return_exceptions=True)
        tell(len({json.dumps(version) for version in versions}), versions[0]["platform"])
        tell(type(refusal).__name__, refusal.code, refusal.data["reason"])
        await failure(client.call("launch", "x" * 2**20))
        given_up = asyncio.create_task(client.call("media.index"))
        await asyncio.sleep(0)  # The task sends its request.
        given_up.cancel()
        await asyncio.wait([given_up])
        tell("given up", given_up.cancelled())
        # The connection works afterwards.
        tell((await client.call("version"))["platform"])
    await failure(client.call("version"))


async def pair(url, code):
    identity = await tapdeck.pair(url, code, name="Python, Ünïcödé")
    tell(identity.id, repr(identity))
    async with tapdeck.connect(url, identity) as client:
        with client.subscribe("tokens.added", "running") as heard:
            tell("listening")
            for _ in range(2):
                method, params = await anext(heard)
                tell(method, params.get("text"))
            # Request and answer are divided into several messages of the secure layer.
            answer = await client.call("mappings", {"padding": "ü" * 100_000})
            tell(sum(len(mapping["override"].encode()) for mapping in answer["mappings"]))
            await failure(anext(heard))
            await failure(client.call("version"))
    await failure(connected(url, identity))


async def refused(url, code):
    await failure(tapdeck.pair(url, "12345"))
    await failure(tapdeck.pair(url, code))
    unknown = tapdeck.Identity("1f8b6f4e-5f0c-4a53-9d0e-2f7f3c1f9a11", "c3" * 32)
    await failure(connected(url, unknown))
    await failure(connected(url, None))


async def wrong_secret(url, client_id):
    await failure(connected(url, tapdeck.Identity(client_id, "c3" * 32)))


async def impostor(url):
    await failure(tapdeck.pair(url, "123456"))


async def generators(*codes):
    tell(*[tapdeck._generator(code).hex() for code in codes])


async def connected(url, identity):
    async with tapdeck.connect(url, identity) as client:
        await client.call("version")


async def failure(awaitable):
    try:
        await awaitable
    except Exception as error:
        data = getattr(error, "data", None) or {}
        tell(type(error).__name__, str(error), data.get("reason"), data.get("triesLeft"))
    else:
        tell("no failure")


if __name__ == "__main__":
    command, *words = sys.argv[1:]
    commands = {
        **{"plain": plain, "pair": pair, "refused": refused, "wrong-secret": wrong_secret},
        **{"impostor": impostor, "generators": generators},
    }
    asyncio.run(commands[command](*words))
