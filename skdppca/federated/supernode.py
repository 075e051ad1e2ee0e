"""A site's connection to the server: a Flower SuperNode that runs installed code, and no other.

Flower ships the code of a run to its SuperNodes as a bundle. This one never asks for the bundle. It
opens no port either: it only asks the server for messages, and lets the `Site` answer them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from .flower_messages import (  # before flwr
    LOST,
    POLL,
    ROOM,
    bounded,
    check_server,
    packed_reply,
    push,
    received,
    speaks,
    unpacked_request,
)

# isort: split
import httpx
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from filelock import FileLock, Timeout
from flwr.app import Message
from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
from flwr.proto.fleet_pb2 import (
    ActivateNodeRequest,
    DeactivateNodeRequest,
    PullMessagesRequest,
    PushMessagesRequest,
)
from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
from flwr.proto.node_pb2 import Node
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from ..statistics.fields import MAX_EDGES, MAX_ENTRIES
from .identity import NODE_PUBLIC_KEY, read_node_key
from .messages import canonical
from .refusals import Refusal, Refused
from .site import Site
from .transport import Reply, respond

# The number that the server knows this node by, and the lock of the process that uses it.
NODE_NUMBER, NODE_LOCK = "supernode.id", "supernode.lock"

# What a message is about, and that it was answered, in words for the site's own people.
MATTERS = {"hello": "a plan", "answer": "a question", "close": "the end of a run"}
ANSWERED = {"hello": "agreed to", "answer": "answered", "close": "noted"}

# Seconds before another attempt to connect.
PAUSE = 2.0
# Seconds without a message until looks become rare, and seconds between two of those.
LIVELY = 60.0
IDLE_POLL = 2.0


def serve(
    site: Site,
    folder: Path,
    server: str,
    roots: bytes | None,
    say: Callable[[str], None],
) -> NoReturn:
    """Answer messages until an interrupt; connect again whenever the connection is lost.

    Parameters
    ----------
    site : Site
    folder : Path
        The site's, with the file of `create_node_key`.
    server : str
        Host and port.
    roots : bytes or None
        The certificates that may vouch for the server; None: those that this machine trusts.
    say : callable
        Is told about the connection and every message that was answered.
    """
    check_server(server)
    key = read_node_key(folder)
    lock = FileLock(folder / NODE_LOCK, timeout=0)
    try:
        lock.acquire()
        taken = False
    except Timeout:
        taken = True
    if taken:
        raise ValueError(
            f"{folder}: another process already runs this site; wait until that has ended"
        )
    try:
        while True:
            try:
                with _connected(folder, key, server, roots) as (client, node):
                    bounded(client, ROOM + len(canonical(site.policy.study)))
                    say(f"connected to {server}; waiting for questions")
                    _answer_all(site, client, node, say)
            except httpx.HTTPStatusError as error:
                say(_status(error, server))
            except LOST as error:
                say(f"no connection to {server} ({error}); trying again")
            time.sleep(PAUSE)
    finally:
        lock.release()


@contextmanager
def _connected(
    folder: Path, key: EllipticCurvePrivateKey, server: str, roots: bytes | None
) -> Iterator[tuple[FleetHttpClient, Node]]:
    public, interval = key.public_key(), HEARTBEAT_DEFAULT_INTERVAL
    with FleetHttpClient.from_server_address(
        server, False, roots, [speaks("SuperNode"), NodeAuthHttpInterceptor(key, public)]
    ) as client:
        _say_that_the_last_one_died(folder, client)
        activated = client.ActivateNode(
            ActivateNodeRequest(public_key=public_key_to_bytes(public), heartbeat_interval=interval)
        )
        node = Node(node_id=activated.node_id)
        (folder / NODE_NUMBER).write_text(str(node.node_id))
        heartbeat = SendNodeHeartbeatRequest(node=node, heartbeat_interval=interval)

        def beat() -> bool:
            try:
                return bool(client.SendNodeHeartbeat(heartbeat).success)
            except httpx.HTTPError:
                return False

        sender = HeartbeatSender(beat)
        sender.start()
        try:
            yield client, node
        finally:
            sender.stop()
            with suppress(httpx.HTTPError, OSError):
                client.DeactivateNode(DeactivateNodeRequest(node_id=node.node_id))


def _say_that_the_last_one_died(folder: Path, client: FleetHttpClient) -> None:
    """Free this node's place at the server, which else expects its heartbeat for another minute."""
    with suppress(OSError, ValueError, httpx.HTTPStatusError):
        number = int((folder / NODE_NUMBER).read_text())
        client.DeactivateNode(DeactivateNodeRequest(node_id=number))


def room_for(site: Site) -> int:
    """Return the most bytes of a message to this site: they follow from the study.

    A plan names all columns. A question has at most three bases of their space beside it, a few
    vectors, and the edges of a histogram.
    """
    d = site.policy.study.n_features
    numbers = min(3 * d * d, 2 * MAX_ENTRIES) + 4 * d + MAX_EDGES
    return len(canonical(site.policy.study)) + 8 * numbers


def _answer_all(
    site: Site, client: FleetHttpClient, node: Node, say: Callable[[str], None]
) -> NoReturn:
    envelope = partial(PushMessagesRequest, node=node, clientapp_runtime_list=[0.0])
    room, last = room_for(site), time.monotonic()
    while True:
        message = received(client, node, PullMessagesRequest(node=node), room)
        if message is None:
            time.sleep(POLL if time.monotonic() - last < LIVELY else IDLE_POLL)
            continue
        action, reply = _reply(site, message)
        try:
            if reply is not None:
                push(client, node, reply, envelope)
        except (httpx.HTTPStatusError, ObjectPushError):
            action += ": the reply was not taken; the run may be over"
        say(action)
        last = time.monotonic()


def _reply(site: Site, message: Message) -> tuple[str, Message | None]:
    """What was asked, in words; and the site's reply, which never holds the text of an error.

    A message that cannot be replied to gets no reply.
    """
    category, _, action = message.metadata.message_type.partition(".")
    reply: Reply | Refused
    try:
        if category != "query" or action not in MATTERS:
            raise Refused(Refusal.MALFORMED)
        body, signature, nonce, arrays = unpacked_request(message.content)
        reply = respond(site, action, body, signature, arrays, nonce)
    except Refused as refused:
        reply = site.refusal(refused.code, "", "")
    except Exception:  # the site has written its errors down already
        reply = site.refusal(Refusal.INTERNAL, "", "")
    matter = MATTERS.get(action, "a message")
    if isinstance(reply, Refused):
        said = f"refused {matter} ({reply.code.value})"
    else:
        said = f"{ANSWERED[action]} {matter}"
    with suppress(Exception):  # whatever Flower finds wrong with what it should reply to
        return said, Message(packed_reply(site.name, reply), reply_to=message)
    return said, None


def _status(error: httpx.HTTPStatusError, server: str) -> str:
    code = error.response.status_code
    if code in (httpx.codes.UNAUTHORIZED, httpx.codes.PRECONDITION_FAILED):
        return (
            f"{server} does not let this site in ({code}); it must register {NODE_PUBLIC_KEY} "
            "(flwr supernode register), or expects its heartbeat for another minute; trying again"
        )
    return f"{server} answered with an error ({code}); trying again"
