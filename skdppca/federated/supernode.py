"""A site's connection to the server: a Flower SuperNode that runs installed code, and no other.

Flower ships the code of a run to its SuperNodes as a bundle. This one never asks for the bundle. It
opens no port either: it only asks the server for messages, and lets the `Site` answer them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from .flower import LOST, POLL, check_server, packed, push, received, unpacked  # before flwr

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
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.supernode.fleet_http_client import FleetHttpClient
from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

from .identity import NODE_PUBLIC_KEY, read_node_key
from .site import Site

# The number that the server knows this node by, and the lock of the process that uses it.
NODE_NUMBER, NODE_LOCK = "supernode.id", "supernode.lock"

# Seconds before another attempt to connect.
PAUSE = 2.0


def serve(
    site: Site, server: str, root_certificates: Path | None, say: Callable[[str], None]
) -> NoReturn:
    """Answer messages until an interrupt; connect again whenever the connection is lost.

    Parameters
    ----------
    site : Site
        Its folder has the file of `create_node_key`.
    server : str
        Host and port.
    root_certificates : Path or None
        A file of the certificates that may vouch for the server; None: those that this machine
        trusts.
    say : callable
        Is told about the connection and every message that was answered.
    """
    check_server(server)
    folder = site.folder
    roots = None if root_certificates is None else root_certificates.read_bytes()
    key, lock = read_node_key(folder), FileLock(folder / NODE_LOCK, timeout=0)
    with suppress(Timeout), lock:
        held = os.stat(folder / NODE_LOCK)
        while True:
            try:
                with _connected(folder, key, server, roots) as (client, node):
                    say(f"connected to {server}; waiting for questions")
                    _answer_all(site, client, node, say, held)
            except (httpx.HTTPStatusError, *LOST) as error:
                say(
                    f"no connection to {server} ({error}): it must have registered "
                    f"{NODE_PUBLIC_KEY}, and may expect an earlier connection for a minute; "
                    "trying again"
                )
            time.sleep(PAUSE)
    raise ValueError(f"{folder}: another process already runs this site; wait until that has ended")


@contextmanager
def _connected(
    folder: Path, key: EllipticCurvePrivateKey, server: str, roots: bytes | None
) -> Iterator[tuple[FleetHttpClient, Node]]:
    public, interval = key.public_key(), HEARTBEAT_DEFAULT_INTERVAL
    speaks = RuntimeVersionHttpInterceptor("SuperNode")
    proves = NodeAuthHttpInterceptor(key, public)
    with FleetHttpClient.from_server_address(server, False, roots, [speaks, proves]) as client:
        # the server else expects the heartbeat of a process that was killed for another minute
        with suppress(OSError, ValueError, httpx.HTTPStatusError):
            number = int((folder / NODE_NUMBER).read_text())
            client.DeactivateNode(DeactivateNodeRequest(node_id=number))
        mine = public_key_to_bytes(public)
        ask = ActivateNodeRequest(public_key=mine, heartbeat_interval=interval)
        node = Node(node_id=client.ActivateNode(ask).node_id)
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


def _answer_all(
    site: Site,
    client: FleetHttpClient,
    node: Node,
    say: Callable[[str], None],
    held: os.stat_result,
) -> NoReturn:
    envelope = partial(PushMessagesRequest, node=node, clientapp_runtime_list=[0.0])
    while True:
        message = received(client, node, PullMessagesRequest(node=node))
        if message is None:
            time.sleep(POLL)
            continue
        # a folder that was put back has another lock, which another process may hold
        if not os.path.samestat(held, os.stat(site.folder / NODE_LOCK)):
            raise ValueError(f"{site.folder}: it was replaced; start the site again")
        said, reply = answered(site, message)
        try:
            if reply is not None:
                push(client, node, reply, envelope)
        except (httpx.HTTPStatusError, ObjectPushError):
            said += ": the reply was not taken; the run may be over"
        say(said)


def answered(site: Site, message: Message) -> tuple[str, Message | None]:
    """Say what was asked, in words; and the site's reply, which never holds the text of an error.

    A message that cannot be replied to gets no reply.
    """
    texts, arrays = unpacked(message.content)
    reply = site.respond(texts.get("body", "").encode(), texts.get("signature", ""), arrays)
    said = reply.refused or "answered"
    vectors = {} if reply.vector is None else {"vector": reply.vector}
    with suppress(Exception):  # whatever Flower finds wrong with what it should reply to
        return said, Message(packed(reply.fields, vectors), reply_to=message)
    return said, None
