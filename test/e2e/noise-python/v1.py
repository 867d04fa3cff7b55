"""A client of version 1 of the secure layer, as other people's apps have it: the curve in plain Python, the rest from
the package `cryptography`. It knows nothing of Tapdeck's code.

    v1.py pair HTTP_URL PIN NAME          tells {"token", "client", "key"}, or {"refused", "error"}
    v1.py talk WS_URL TOKEN KEY           each line of stdin is a payload to send; tells {"payload"} and {"closed": CODE}
      --salt HEX        this salt instead of a fresh one
      --record FILE     notes the frames that it sends
      --origin ORIGIN   sends it, and before each POST asks for its permission, as the web view of an app does
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import struct
import sys
import threading
import urllib.error
import urllib.request

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
U = (
    793136080485469241208656611513609866400481671852,
    59748757929350367369315811184980635230185250460108398961713395032485227207304,
)
V = (
    1086685267857089638167386722555472967068468061489,
    9157340230202296554417312816309453883742349874205386245733062928888341584123,
)


def plus(one, other):
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    if one == other:
        slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P)
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def times(scalar, point):
    result = None
    while scalar > 0:
        if scalar & 1:
            result = plus(result, point)
        point = plus(point, point)
        scalar >>= 1
    return result


def big_endian(number):
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def encoded(data):
    return base64.b64encode(data).decode("ascii")


def tell(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def ask(url, body, origin):
    headers = {"Content-Type": "application/json"}
    if origin:
        headers["Origin"] = origin
        asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        with urllib.request.urlopen(
            urllib.request.Request(url, method="OPTIONS", headers={**headers, **asks})
        ) as answer:
            allowed = answer.headers
            assert allowed["Access-Control-Allow-Origin"] == origin, dict(allowed)
            assert "content-type" in allowed["Access-Control-Allow-Headers"].lower(), dict(allowed)
    request = urllib.request.Request(url, json.dumps(body).encode("utf-8"), headers)
    with urllib.request.urlopen(request) as answer:
        assert not origin or answer.headers["Access-Control-Allow-Origin"] == origin
        return json.load(answer)


def confirmation(key, side, name, to_service, to_client):
    code = hmac.new(key, digestmod=hashlib.sha256)
    for part in (b"zaparoo-v1", b"p256", side, name.encode("utf-8"), to_service, to_client):
        code.update(struct.pack(">I", len(part)) + part)
    return code.digest()


def pair(base, pin, name, origin):
    pw = int.from_bytes(pin.encode("ascii"), "big")
    a = int.from_bytes(os.urandom(48), "big") % (N - 1) + 1
    X = plus(times(pw, U), times(a, G))
    fields = {"ux": U[0], "uy": U[1], "vx": V[0], "vy": V[1], "xx": X[0], "xy": X[1], "yx": 0, "yy": 0}
    to_service = json.dumps({"role": 0, **{key: str(value) for key, value in fields.items()}}).encode("utf-8")
    started = ask(f"{base}/api/pair/start", {"pake": encoded(to_service), "name": name}, origin)
    to_client = base64.b64decode(started["pake"], validate=True)
    answer = json.loads(to_client)
    assert answer["role"] == 1 and (int(answer["xx"]), int(answer["xy"])) == X
    Y = (int(answer["yx"]), int(answer["yy"]))
    assert (Y[1] ** 2 - Y[0] ** 3 + 3 * Y[0] - B) % P == 0
    x, y = times(pw, V)
    Z = times(a, plus(Y, (x, P - y)))
    exchanged = hashlib.sha256(b"".join(big_endian(part) for part in (pw, *X, *Y, *Z))).digest()
    prk = hmac.new(to_service + to_client, exchanged, hashlib.sha256).digest()
    keys = {
        info: HKDFExpand(hashes.SHA256(), 32, info).derive(prk)
        for info in (b"zaparoo-confirm-A", b"zaparoo-confirm-B", b"zaparoo-pairing-v1")
    }
    ours = confirmation(keys[b"zaparoo-confirm-A"], b"client", name, to_service, to_client)
    done = ask(f"{base}/api/pair/finish", {"session": started["session"], "confirm": encoded(ours)}, origin)
    theirs = confirmation(keys[b"zaparoo-confirm-B"], b"server", name, to_service, to_client)
    assert hmac.compare_digest(theirs, base64.b64decode(done["confirm"]))
    tell(token=done["authToken"], client=done["clientId"], key=keys[b"zaparoo-pairing-v1"].hex())


class Direction:
    def __init__(self, key, salt, name):
        derive = lambda info, size: HKDF(hashes.SHA256(), size, salt, info).derive(key)
        self.cipher = AESGCM(derive(f"zaparoo-{name}-v1".encode(), 32))
        self.base = derive(f"zaparoo-{name}-nonce-v1".encode(), 12)
        self.counter = 0

    def nonce(self):
        low = int.from_bytes(self.base[4:], "big") ^ self.counter
        self.counter += 1
        return self.base[:4] + low.to_bytes(8, "big")


def talk(url, token, key, salt, record, origin):
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    additional = f"{token}:ws".encode("ascii")
    out, back = (Direction(key, salt, name) for name in ("c2s", "s2c"))
    socket = connect(url, compression=None, proxy=None, origin=origin)

    def listen():
        try:
            for text in socket:
                frame = json.loads(text)
                if "error" in frame:
                    tell(refused=frame["error"])
                    continue
                data = base64.b64decode(frame["e"], validate=True)
                tell(payload=back.cipher.decrypt(back.nonce(), data, additional).decode("utf-8"))
        except ConnectionClosed:
            pass  # The service hung up; the answer is `closed`.
        tell(closed=socket.close_code)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    for line in sys.stdin:
        first = out.counter == 0
        frame = {"e": encoded(out.cipher.encrypt(out.nonce(), json.loads(line).encode("utf-8"), additional))}
        if first:
            frame = {"v": 1, **frame, "t": token, "s": encoded(salt)}
        text = json.dumps(frame)
        if record:
            with open(record, "a", encoding="utf-8") as file:
                file.write(text + "\n")
        try:
            socket.send(text)
        except ConnectionClosed:
            break
    socket.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["pair", "talk"])
    parser.add_argument("words", nargs="+")
    parser.add_argument("--salt", default=os.urandom(16).hex())
    parser.add_argument("--record")
    parser.add_argument("--origin")
    asked = parser.parse_args()
    if asked.what == "talk":
        url, token, key = asked.words
        return talk(url, token, bytes.fromhex(key), bytes.fromhex(asked.salt), asked.record, asked.origin)
    try:
        pair(*asked.words, asked.origin)
    except urllib.error.HTTPError as error:
        tell(refused=error.code, error=json.load(error)["error"])


main()
