"""
Makes calls at each door of the service, in a way that the file ORDER names. ORDER.report appears at the end: a JSON object.

    player-doors.py FOLDER PORT TLS_PORT ORDER INNOCENT

FOLDER is the service's data folder, and INNOCENT the socket of a process that keeps the descriptors that it gets.
"""
import base64
import ctypes
import json
import os
import resource
import signal
import socket
import ssl
import sys
import time

folder, port, tls_port, order, innocent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
with open(order) as file:
    way = file.read()
is_daemon = "daemon" in sys.argv
libc = ctypes.CDLL(None, use_errno=True)
call = json.dumps({"jsonrpc": "2.0", "id": "1", "method": "clients"})
limit_locks = 10  # The value of RLIMIT_LOCKS (asm-generic/resource.h). Python has no name for this limit.


def to_socket_file():
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(20)
    line.connect(f"{folder}/tapdeck.sock")
    return line


def to_loopback():
    return socket.create_connection(("127.0.0.1", port), 20)


def to_loopback_6():
    return socket.create_connection(("::1", port), 20)


def to_tls():
    return socket.create_connection(("127.0.0.1", tls_port), 20)


doors = {"socket file": to_socket_file, "IPv4": to_loopback, "IPv6": to_loopback_6, "TLS": to_tls}


def over(door, line):
    """The stream that carries requests on a connection."""
    if door != "TLS":
        return line
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    return trusting.wrap_socket(line)


def request(verb, path, body="", more=""):
    head = f"{verb} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return (head + body).encode()


def frame(text):
    """A masked text frame of a WebSocket, with a mask of zeros (RFC 6455, 5.2)."""
    data = text.encode()
    return bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data


upgrade = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\n"
)
closing = "Connection: close\r\n"
requests = {
    "POST": request("POST", "/api/v0.1", call, f"Content-Type: application/json\r\n{closing}"),
    "WebSocket": request("GET", "/api/v0.1", "", upgrade),
    "backup": request("GET", "/backup", "", closing),
}


def send(door, line, kind):
    """Sends a request, and returns the stream of its answer."""
    stream = over(door, line)
    stream.sendall(requests[kind])
    return stream


def read_answer(stream, kind):
    """The received bytes until the end, or until the answer to the call."""
    got = b""
    while True:
        more = stream.recv(65536)
        got += more
        if not more or (kind == "WebSocket" and b'"jsonrpc"' in got):
            return got.decode("latin1")
        if kind == "WebSocket" and got.startswith(b"HTTP/1.1 101") and got.endswith(b"\r\n\r\n"):
            stream.sendall(frame(call))


def answered(door, line, kind):
    try:
        return verdict(read_answer(send(door, line, kind), kind))
    except OSError as error:
        return f"cut: {type(error).__name__}"


def verdict(text):
    if '"result"' in text:
        return "owner"
    if "403 Forbidden" in text:
        return "403"
    if "404 Not Found" in text:
        return "owner"  # Nobody else learns that there is no backup.
    if '"code":2,' in text:
        return "stranger"
    if "-32002" in text:
        return "encryption-required"
    return text


def ask(door, kind):
    try:
        line = doors[door]()
    except OSError:
        return "no connection"
    prepare_line(line)
    return answered(door, line, kind)


def prepare_line(line):
    if way == "with a copy at an innocent process":
        with socket.socket(socket.AF_UNIX) as other:
            other.connect(innocent)
            socket.send_fds(other, [b"x"], [line.fileno()])
            other.recv(1)


def try_all():
    return {f"{door}, {kind}": ask(door, kind) for door in doors for kind in requests}


def in_child(work=try_all):
    """The result of `work` in another process, which has ended."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(into, json.dumps(work()).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as text:
        found = json.loads(text.read())
    os.waitpid(child, 0)
    return found


def received(near):
    _, [descriptor], _, _ = socket.recv_fds(near, 1, 1)
    line = socket.socket(fileno=descriptor)
    line.settimeout(20)
    return line


def over_connections_of_a_child():
    """A child connects, passes the connection on, and ends. Then its parent asks."""
    found = {}
    for door, connect in doors.items():
        for kind in requests:
            near, far = socket.socketpair()
            child = os.fork()
            if child == 0:
                line = connect()
                socket.send_fds(far, [b"x"], [line.fileno()])
                os._exit(0)
            line = received(near)
            os.waitpid(child, 0)
            found[f"{door}, {kind}"] = answered(door, line, kind)
    return found


def while_no_process_holds_it():
    """The connection is in the queue of a socket pair while the service looks for its holders."""
    found = {}
    for door in ("IPv4", "IPv6"):
        for kind in requests:
            near, far = socket.socketpair()
            line = send(door, doors[door](), kind)
            socket.send_fds(far, [b"x"], [line.fileno()])
            line.close()
            time.sleep(0.3)  # This is longer than the service looks, because an attacker gets no report of the look.
            found[f"{door}, {kind}"] = verdict(read_answer(received(near), kind))
    return found


def raise_limits():
    for value in (1, resource.RLIM_INFINITY):
        try:
            resource.setrlimit(limit_locks, (value, value))
        except (ValueError, OSError):
            pass
    return try_all()


def hide():
    pr_set_dumpable = 4
    if libc.prctl(pr_set_dumpable, 0, 0, 0, 0) != 0:
        raise OSError("prctl")
    return try_all()


def in_namespaces(flags):
    def enter():
        if libc.unshare(flags) != 0:
            return {"unshare": os.strerror(ctypes.get_errno())}
        return try_all()

    return lambda: in_child(enter)


def leave():
    """As a daemon: no parent, a session of its own, and, after another exec, an empty environment."""
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    os.execve(sys.executable, [sys.executable, *sys.argv, "daemon"], {})


new_user, new_network = 0x10000000, 0x40000000  # The values of CLONE_NEWUSER and CLONE_NEWNET (linux/sched.h).
ways = {
    "plainly": try_all,
    "as a daemon without an environment": try_all if is_daemon else leave,
    "in a child": in_child,
    "after raising its limits": raise_limits,
    "hidden from other processes": hide,
    "with a copy at an innocent process": hide,
    "over connections of a child that has ended": over_connections_of_a_child,
    "while no process holds the connection": while_no_process_holds_it,
    "as root of a user namespace": in_namespaces(new_user),
    "in a network namespace": in_namespaces(new_user | new_network),
}

signal.signal(signal.SIGPIPE, signal.SIG_IGN)
try:
    found = ways[way]()
except Exception as error:
    found = {"failed": repr(error)}
with open(f"{order}.new", "w") as file:
    json.dump(found, file)
os.rename(f"{order}.new", f"{order}.report")
