"""A client of the secure layer, version 2, in another language and on a public Noise library (noiseprotocol).

    client.py [--small-frames] ws://HOST:PORT/PATH     speaks to a service over WebSocket
    client.py [--small-frames] pipe COMMAND...         speaks to a program, one text a line
    client.py [--small-frames] respond                 is the other side, on stdin and stdout, and echoes payloads

Id and secret come in TAPDECK_CLIENT_ID and TAPDECK_CLIENT_SECRET. As a client, it takes payloads on stdin, one JSON
string a line, and prints each event on stdout, one JSON object a line: {"ready": true}, {"payload": "..."}, {"refused":
{...}}, {"closed": true}. It closes when stdin ends. --small-frames sends each transport message, of at most 200 bytes, as
a frame of its own. """

import base64
import json
import os
import subprocess
import sys
import threading

from noise.connection import NoiseConnection

VERSION = 2
MESSAGE_BYTES_MAX = 65535
SMALL_MESSAGE_BYTES = 200
TAG_BYTES = 16
TEXT_CHARS_MAX = 2 * 1024 * 1024


def encoded(message):
    return base64.b64encode(message).decode("ascii")


def decoded(text):
    return base64.b64decode(text, validate=True)


def new_noise(client_id, secret):
    noise = NoiseConnection.from_name(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256")
    noise.set_prologue(b"tapdeck-secure-2:" + client_id.encode("ascii"))
    noise.set_psks(bytes.fromhex(secret))
    return noise


class Sealed:
    """Payloads to frames and back, after the handshake."""

    def __init__(self, noise, small_frames):
        self.noise = noise
        self.small_frames = small_frames
        self.gathered = b""

    def frames_of(self, payload):
        data = payload.encode("utf-8")
        size = (SMALL_MESSAGE_BYTES if self.small_frames else MESSAGE_BYTES_MAX) - TAG_BYTES - 1
        pieces = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
        flags = [b"\1"] * (len(pieces) - 1) + [b"\0"]
        messages = [bytes(self.noise.encrypt(flag + piece)) for flag, piece in zip(flags, pieces)]
        groups = messages if self.small_frames else [b"".join(messages)]
        return [json.dumps({"e": encoded(group)}) for group in groups]

    def payload_of(self, frame):
        """The payload that this frame completes, or None."""
        messages = decoded(json.loads(frame)["e"])
        flag = None
        for at in range(0, len(messages), MESSAGE_BYTES_MAX):
            plaintext = bytes(self.noise.decrypt(messages[at : at + MESSAGE_BYTES_MAX]))
            flag = plaintext[0]
            self.gathered += plaintext[1:]
        if flag != 0:
            return None
        payload, self.gathered = self.gathered, b""
        return payload.decode("utf-8")


class Pipe:
    """A program that takes a text a line, and prints a text a line."""

    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")

    def send(self, text):
        self.child.stdin.write(text + "\n")
        self.child.stdin.flush()

    def texts(self):
        for line in self.child.stdout:
            yield line.rstrip("\n")

    def close(self):
        self.child.stdin.close()


class WebSocket:
    def __init__(self, url):
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.client import connect

        self.closed = ConnectionClosed
        self.socket = connect(url, compression=None, max_size=TEXT_CHARS_MAX, proxy=None)

    def send(self, text):
        self.socket.send(text)

    def texts(self):
        try:
            yield from self.socket
        except self.closed:
            pass  # The service hung up; the answer is `closed`.

    def close(self):
        self.socket.close()


def tell(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def be_client(transport, small_frames):
    client_id = os.environ["TAPDECK_CLIENT_ID"]
    noise = new_noise(client_id, os.environ["TAPDECK_CLIENT_SECRET"])
    noise.set_as_initiator()
    noise.start_handshake()
    transport.send(json.dumps({"v": VERSION, "t": client_id, "e": encoded(noise.write_message())}))
    texts = transport.texts()
    reply = json.loads(next(texts))
    if "error" in reply:
        tell(refused=reply["error"])
        return 1
    noise.read_message(decoded(reply["e"]))
    if not noise.handshake_finished:
        return 1
    sealed = Sealed(noise, small_frames)
    tell(ready=True)

    def receive():
        for text in texts:
            frame = json.loads(text)
            if "error" in frame:
                tell(refused=frame["error"])
                continue
            payload = sealed.payload_of(text)
            if payload is not None:
                tell(payload=payload)
        tell(closed=True)

    receiver = threading.Thread(target=receive)
    receiver.start()
    for line in sys.stdin:
        for frame in sealed.frames_of(json.loads(line)):
            transport.send(frame)
    transport.close()
    receiver.join()
    return 0


def be_responder(small_frames):
    hello = json.loads(sys.stdin.readline())
    noise = new_noise(hello["t"], os.environ["TAPDECK_CLIENT_SECRET"])
    noise.set_as_responder()
    noise.start_handshake()
    noise.read_message(decoded(hello["e"]))
    tell(v=VERSION, e=encoded(noise.write_message()))
    sealed = Sealed(noise, small_frames)
    for line in sys.stdin:
        payload = sealed.payload_of(line)
        for frame in sealed.frames_of(payload) if payload is not None else []:
            sys.stdout.write(frame + "\n")
            sys.stdout.flush()
    return 0


def main(arguments):
    small_frames = arguments[:1] == ["--small-frames"]
    match arguments[1:] if small_frames else arguments:
        case ["respond"]:
            return be_responder(small_frames)
        case ["pipe", *command] if command:
            return be_client(Pipe(command), small_frames)
        case [url] if url.startswith(("ws://", "wss://")):
            return be_client(WebSocket(url), small_frames)
        case _:
            print(__doc__, file=sys.stderr)
            return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
