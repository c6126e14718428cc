"""Addresses that are no metrics endpoint of an engine: what people point a tool at by mistake.

Each is a context manager that yields a port of 127.0.0.1. They answer all paths alike.
"""

import contextlib
import socket
import threading
import time

HTML = b"<!doctype html><html><head><title>It works!</title></head><body><h1>It works!</h1></body></html>\n"
ENDLESS_LIMIT_S = 120  # a client that never gives up is let go after this


def read_request(connection):
    """Reads up to the end of the request's head."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(4096)
        if not part:
            return
        data += part


def answer(status, kind, body):
    """A handler that sends one response and closes."""

    def handle(connection):
        read_request(connection)
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + body)

    return handle


def never_answer(connection):
    """Takes the request and says nothing until the client leaves."""
    connection.settimeout(ENDLESS_LIMIT_S)
    while connection.recv(4096):
        pass


def answer_for_ever(connection):
    """Metrics without end: valid samples, each of another series."""
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close\r\n\r\n")
    end = time.monotonic() + ENDLESS_LIMIT_S
    number = 0
    while time.monotonic() < end:
        connection.sendall(b"".join(b'vllm:endless{n="%d"} 1\n' % n for n in range(number, number + 1000)))
        number += 1000


@contextlib.contextmanager
def listening(handle):
    """Runs a handler for every connection, each in a thread."""

    def serve_one(connection):
        with connection, contextlib.suppress(OSError):
            handle(connection)

    def accept_all(listener):
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept_all, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]


@contextlib.contextmanager
def wrong_port():
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    yield port


def not_metrics():
    """A web page."""
    return listening(answer("200 OK", "text/html", HTML))


def unauthorized():
    """A gateway that wants a key."""
    return listening(answer("401 Unauthorized", "application/json", b'{"error":"Unauthorized"}\n'))


def hang():
    """A server that accepts and never answers."""
    return listening(never_answer)


def endless():
    """A body without end."""
    return listening(answer_for_ever)
