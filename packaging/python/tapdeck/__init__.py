"""A client of Tapdeck's control API. `make clients` packs it; a copy of this folder beside a program does as well, with

    pip install websockets==15.0.1 noiseprotocol==0.3.1 cryptography==46.0.3

It needs Python 3.11 or newer; the tests of Tapdeck run with these versions. A program on another machine needs an
identity. It gets one by the code that `tapdeck pair --code` shows, and keeps it like a password:

    import asyncio
    import tapdeck

    URL = "ws://tapdeck.local:7497/api/v0.1"

    async def main():
        identity = await tapdeck.pair(URL, "123 456", name="my program")
        async with tapdeck.connect(URL, identity) as client:
            with client.subscribe("tokens.added") as heard:
                await client.call("launch", "SNES/Super Game.sfc")
                async for method, params in heard:
                    print(method, params["uid"], params["text"])

    asyncio.run(main())

On the device itself, `tapdeck.connect("ws://127.0.0.1:7497/api/v0.1")` needs no identity. docs/API.md lists the methods and
the notifications, and docs/SECURE.md describes the bytes. The Noise handshake comes from the package noiseprotocol; X25519
and ChaCha20-Poly1305 come from cryptography. Only the map of CPace from a code to a point is computed here, with Python's
integers, whose time depends on the code a little.
"""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from noise.connection import NoiseConnection
from noise.exceptions import NoiseInvalidMessage
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

__all__ = ["Client", "Identity", "RpcError", "SecureFailure", "Subscription", "connect", "pair"]

SECURE_VERSION = 2
PAYLOAD_BYTES_MAX = 1024 * 1024
FRAME_CHARS_MAX = 2 * PAYLOAD_BYTES_MAX
MESSAGE_BYTES_MAX = 65535  # A constant of Noise; it includes the tag.
PIECE_BYTES_MAX = MESSAGE_BYTES_MAX - 16 - 1
WAITING_MAX = 10_000
REFUSAL_CHARS_MAX = 300


@dataclass(frozen=True)
class Identity:
    """The credentials of a client: the result of `pair`, of `clients.new`, or of a pairing link."""

    id: str
    secret: str = field(repr=False)
    """64 hex characters."""


class RpcError(Exception):
    """A refusal of the device. `data["reason"]` is a stable word for programs."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class SecureFailure(Exception):
    """The other side does not know the code or the secret, or its message was altered."""


class Subscription:
    """Notifications as `(method, params)`, from the call of `Client.subscribe` on. Iterate over them once.

    The iteration raises `ConnectionError` or `RpcError` when the connection ends, and `BufferError` if 10,000 were waiting.
    """

    def __init__(self, methods: tuple[str, ...]) -> None:
        self._methods = methods
        self._waiting: asyncio.Queue[tuple[str, Any] | Exception] = asyncio.Queue()

    def __aiter__(self) -> AsyncIterator[tuple[str, Any]]:
        return self

    async def __anext__(self) -> tuple[str, Any]:
        item = await self._waiting.get()
        if isinstance(item, Exception):
            self._waiting.put_nowait(item)  # Each later iteration raises the same error.
            raise item
        return item


class Client:
    """An open connection, from `connect`. One task receives, so calls may run concurrently."""

    def __init__(self, socket: ClientConnection, session: "_Session | None") -> None:
        self._socket = socket
        self._session = session
        self._sending = asyncio.Lock()
        self._pending: dict[str, asyncio.Future[Any]] = {}
        self._subscriptions: set[Subscription] = set()
        self._ended: Exception | None = None

    async def call(self, method: str, params: Any = None) -> Any:
        """Returns the result of a method of the API.

        Raises `RpcError` if the device refuses, and `ConnectionError` if the connection ends before the answer. It waits
        without a limit: `asyncio.timeout` sets one. The device may still run a call that was given up.
        """
        if self._ended is not None:
            raise self._ended
        request = str(uuid.uuid4())
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request] = answered
        try:
            await self._send({"id": request, "method": method, "params": params})
            return await answered
        finally:
            del self._pending[request]

    @contextlib.contextmanager
    def subscribe(self, *methods: str) -> Iterator[Subscription]:
        """The notifications with these names, or all of them, while the `with` block runs."""
        subscription = Subscription(methods)
        if self._ended is not None:
            subscription._waiting.put_nowait(self._ended)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    async def _send(self, message: dict[str, Any]) -> None:
        payload = json.dumps({"jsonrpc": "2.0", **message}).encode("utf-8")
        if len(payload) > PAYLOAD_BYTES_MAX:
            raise ValueError("a request has at most 1 MiB: send less at once")
        try:
            # Sealed frames are numbered, so no other call may send between them.
            async with self._sending:
                for frame in [payload.decode()] if self._session is None else self._session.seal(payload):
                    await self._socket.send(frame)
        except ConnectionClosed as error:
            raise self._ended or _end_of(error) from error

    async def _receive(self) -> None:
        """Runs until the connection ends, and reports the reason to every call and subscription."""
        try:
            while True:
                message = await _receive_object(self._socket)
                if self._session is not None:
                    opened = self._session.open(message)
                    if opened is None:
                        continue
                    message = _read_object(opened)
                self._take(message)
        except Exception as error:
            self._end(error)
        finally:
            # The reader was cancelled. A reason from an earlier step stays.
            self._end(ConnectionError("the client was closed"))
            await self._socket.close()

    def _end(self, error: Exception) -> None:
        if self._ended is not None:
            return
        self._ended = error
        for answered in self._pending.values():
            if not answered.done():
                answered.set_exception(error)
        for subscription in self._subscriptions:
            subscription._waiting.put_nowait(error)

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message:
            self._notify(message["method"], message.get("params"))
            return
        answered = self._pending.get(message.get("id", ""))
        if answered is None or answered.done():
            return  # The caller of this request has given up.
        if "error" in message:
            answered.set_exception(_rpc_error(message["error"]))
        else:
            answered.set_result(message.get("result"))

    def _notify(self, method: str, params: Any) -> None:
        for subscription in list(self._subscriptions):
            if subscription._methods and method not in subscription._methods:
                continue
            if subscription._waiting.qsize() < WAITING_MAX:
                subscription._waiting.put_nowait((method, params))
            else:
                self._subscriptions.discard(subscription)
                subscription._waiting.put_nowait(BufferError(f"more than {WAITING_MAX} notifications were waiting"))


@contextlib.asynccontextmanager
async def connect(url: str, identity: Identity | None = None, **options: Any) -> AsyncIterator[Client]:
    """Connects to `ws://host:port/api/v0.1` or `wss://...`, over the secure layer if there is an `identity`.

    `options` go to `websockets.asyncio.client.connect`, such as `ssl`. Raises `OSError` if nobody answers or the
    device refuses the connection, `RpcError` with code -32003 if the device does not know the identity, and `SecureFailure`
    if the other side does not know the secret.
    """
    async with _open(url, options) as socket:
        session = None if identity is None else await _shake_hands(socket, identity)
        client = Client(socket, session)
        receiving = asyncio.create_task(client._receive())
        try:
            if session is not None:
                # The first sealed payload proves the secret; the device sends no notifications before. A request
                # without an id is not answered.
                await client._send({"method": "version"})
            yield client
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)


async def pair(url: str, code: str, name: str = "", **options: Any) -> Identity:
    """Pairs by the six digits that `tapdeck pair --code` shows on the device, which lists this client as `name`.

    Raises `RpcError` if no pairing is open or the code is wrong (`data["triesLeft"]`), and `SecureFailure` if the device
    does not know the code. A device accepts three tries in all.
    """
    digits = "".join(code.replace("-", "").split())
    if len(digits) != 6 or not (digits.isascii() and digits.isdigit()):
        raise ValueError("a code has six digits: tapdeck pair --code shows one on the device")
    scalar = X25519PrivateKey.generate()
    ours = scalar.exchange(X25519PublicKey.from_public_bytes(_generator(digits)))
    async with _open(url, options) as socket:
        await socket.send(json.dumps({"v": SECURE_VERSION, "p": _base64(ours), "n": name}))
        theirs = _read_bytes(await _receive_object(socket), "p", 32)
        # X25519 ignores the top bit. A device that reflects our share knows no code.
        if theirs[:31] == ours[:31] and (theirs[31] ^ ours[31]) & 0x7F == 0:
            raise SecureFailure("the device sent the share of this client")
        try:
            shared = scalar.exchange(X25519PublicKey.from_public_bytes(theirs))
        except ValueError as error:
            raise SecureFailure("the share of the device is forged") from error
        transcript = (_lv_cat(ours, name.encode("utf-8")), _lv_cat(theirs, b""))
        key = hashlib.sha512(_lv_cat(b"CPace255_ISK", b"", shared) + b"".join(transcript)).digest()
        mac_key = hashlib.sha512(b"CPaceMac" + key).digest()
        proof, expected = (hmac.digest(mac_key, part, "sha512") for part in transcript)
        await socket.send(json.dumps({"p": _base64(proof)}))
        grant = await _receive_object(socket)
    if not hmac.compare_digest(_read_bytes(grant, "p", 64), expected):
        raise SecureFailure("the device does not know the code")
    seal_key = hmac.digest(key, b"tapdeck-pair-2\x01", "sha512")[:32]
    try:
        opened = ChaCha20Poly1305(seal_key).decrypt(bytes(12), _read_bytes(grant, "e"), None)
    except InvalidTag as error:
        raise SecureFailure("the grant of the device was altered") from error
    granted = _read_object(opened)
    return Identity(str(granted.get("id")), str(granted.get("secret")))


class _Session:
    """Payloads to sealed frames and back, after the handshake."""

    def __init__(self, noise: NoiseConnection) -> None:
        self._noise = noise
        self._gathered = b""

    def seal(self, payload: bytes) -> list[str]:
        pieces = [payload[at : at + PIECE_BYTES_MAX] for at in range(0, len(payload), PIECE_BYTES_MAX)]
        flags = [b"\1"] * (len(pieces) - 1) + [b"\0"]
        return [
            json.dumps({"e": _base64(self._noise.encrypt(flag + piece))}) for flag, piece in zip(flags, pieces, strict=True)
        ]

    def open(self, frame: dict[str, Any]) -> bytes | None:
        """The payload that this frame completes, if it does."""
        messages = _read_bytes(frame, "e")
        flag = 1
        for at in range(0, len(messages), MESSAGE_BYTES_MAX):
            try:
                plaintext = bytes(self._noise.decrypt(messages[at : at + MESSAGE_BYTES_MAX]))
            except NoiseInvalidMessage as error:
                raise SecureFailure("a message of the device was altered") from error
            flag = plaintext[0] if plaintext else 2
            self._gathered += plaintext[1:]
            if flag > 1 or len(self._gathered) > PAYLOAD_BYTES_MAX:
                raise SecureFailure("a message of the device is malformed or too long")
        if flag == 1:
            return None
        payload, self._gathered = self._gathered, b""
        return payload


async def _shake_hands(socket: ClientConnection, identity: Identity) -> _Session:
    noise = NoiseConnection.from_name(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256")
    noise.set_prologue(b"tapdeck-secure-2:" + identity.id.encode("ascii"))
    noise.set_psks(bytes.fromhex(identity.secret))
    noise.set_as_initiator()
    noise.start_handshake()
    hello = _base64(noise.write_message())
    await socket.send(json.dumps({"v": SECURE_VERSION, "t": identity.id, "e": hello}))
    reply = _read_bytes(await _receive_object(socket), "e", 48)
    try:
        noise.read_message(reply)
    except (InvalidTag, ValueError) as error:  # A forged share is a ValueError.
        raise SecureFailure("the other side does not know the secret") from error
    return _Session(noise)


@contextlib.asynccontextmanager
async def _open(url: str, options: dict[str, Any]) -> AsyncIterator[ClientConnection]:
    try:
        # A device of this network is not behind a proxy, and sealed frames do not compress.
        socket = await open_websocket(url, **{"compression": None, "max_size": FRAME_CHARS_MAX, "proxy": None, **options})
    except InvalidStatus as error:
        sentence = bytes(error.response.body or b"").decode("utf-8", "replace").strip()[:REFUSAL_CHARS_MAX]
        why = sentence or f"the status of HTTP is {error.response.status_code}"
        raise ConnectionError(f"the device refuses the connection: {why}") from error
    except InvalidHandshake as error:
        raise ConnectionError(f"the other side is no device of Tapdeck: {error}") from error
    async with socket:
        yield socket


async def _receive_object(socket: ClientConnection) -> dict[str, Any]:
    """The next frame. Raises a protocol error, which belongs to no request, and after which the device closes."""
    try:
        text = await socket.recv()
    except ConnectionClosed as error:
        raise _end_of(error) from error
    frame = _read_object(text)
    if "error" in frame and "id" not in frame:
        raise _rpc_error(frame["error"])
    return frame


def _end_of(error: ConnectionClosed) -> ConnectionError:
    reason = error.rcvd.reason if error.rcvd is not None else ""
    return ConnectionError(f"the connection has ended: {reason or 'the device gave no reason'}")


def _read_object(text: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SecureFailure("a message of the device is not JSON") from error
    if not isinstance(value, dict):
        raise SecureFailure("a message of the device is not an object")
    return value


def _rpc_error(error: Any) -> RpcError:
    fields = error if isinstance(error, dict) else {}
    return RpcError(fields.get("code", 0), str(fields.get("message")), fields.get("data"))


def _read_bytes(frame: dict[str, Any], name: str, size: int | None = None) -> bytes:
    try:
        data = base64.b64decode(frame[name], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise SecureFailure(f'a message of the device has no "{name}"') from error
    if size is not None and len(data) != size:
        raise SecureFailure(f'"{name}" of a message of the device has a wrong length')
    return data


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _lv_cat(*parts: bytes) -> bytes:
    """`lv_cat` of draft-irtf-cfrg-cpace: each part after its length as LEB128."""
    joined = b""
    for part in parts:
        length = len(part)
        while length >= 0x80:
            joined += bytes([length & 0x7F | 0x80])
            length >>= 7
        joined += bytes([length]) + part
    return joined


_PRIME = 2**255 - 19
_CURVE_A = 486662  # RFC 7748, 4.1.


def _generator(digits: str) -> bytes:
    """The point that both sides of CPace start from: the draft's suite CPACE-X25519-SHA512."""
    domain, prs = b"CPace255", digits.encode("ascii")
    zeros = bytes(max(0, 128 - 1 - len(_lv_cat(prs)) - len(_lv_cat(domain))))
    hashed = hashlib.sha512(_lv_cat(domain, prs, zeros, b"tapdeck-pair-2:client:device", b"")).digest()
    # Elligator 2 (RFC 9380, 6.7.1, with Z = 2).
    r = int.from_bytes(hashed[:32], "little") & (2**255 - 1)
    x = -_CURVE_A * pow(1 + 2 * r * r, -1, _PRIME) % _PRIME
    is_on_curve = pow(x**3 + _CURVE_A * x * x + x, (_PRIME - 1) // 2, _PRIME) == 1
    return (x if is_on_curve else (-_CURVE_A - x) % _PRIME).to_bytes(32, "little")
