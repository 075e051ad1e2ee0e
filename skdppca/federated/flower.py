"""Flower as transport: the analyst's connection, and how both sides write and read messages.

Flower keeps what a message holds in a store of objects, apart from the message itself. This module
and `supernode` are all that knows how flwr 1.41 does it. Flower's public interface would run the
code that a server ships to a site, and so they do not use it.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .messages import Message as Signed
from .messages import Request
from .transport import Reply

# Flower reads these when it is imported. Nothing is to be sent to anybody but the study's server.
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")

import httpx
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.constant import SUPERLINK_NODE_ID, SubStatus
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.control_pb2 import StartRunRequest
from flwr.proto.fab_pb2 import Fab
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.node_pb2 import Node
from flwr.proto.runtime_pb2 import (
    AcquireTaskRequest,
    GetNodesRequest,
    PullAppMessagesRequest,
    PullTaskInputRequest,
    PushAppMessagesRequest,
    PushTaskOutputRequest,
)
from flwr.supercore.constant import TaskType
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.heartbeat import HeartbeatSender, make_task_heartbeat_fn_http
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    no_object_id_recompute,
)
from flwr.supercore.inflatable.inflatable_protobuf_utils import (
    make_pull_object_fn_protobuf,
    make_push_object_fn_protobuf,
)
from flwr.supercore.inflatable.inflatable_utils import (
    ObjectPushError,
    pull_and_inflate_object_from_tree,
    push_objects,
)
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.task_identity import TaskIdentity

# Seconds between two looks for messages; Flower's own programs sleep for 3.
POLL = 0.2

# Seconds within which what a message holds must have followed its head: longer, and its sender has
# died.
MOST = 60.0

# The records of a message: what it says, and its arrays.
TEXTS, ARRAYS = "texts", "arrays"

# Errors of a connection that breaks, or is too slow.
LOST = (httpx.TransportError, OSError, ObjectPushError)

SERVER = Node(node_id=SUPERLINK_NODE_ID)

# Seconds after which a site is asked again that has not answered.
AGAIN = 30.0

# A site that is there says hello, or ends a run, at once: waiting for longer is of no use.
BRIEF_PATIENCE = 30.0

# Flower starts a run with a bundle of code. This one has no code: sites run what they installed.
BUNDLE = """\
[project]
name = "skdppca"
version = "1"
license = "BSD-3-Clause"

[tool.flwr.app]
publisher = "skdppca"

[tool.flwr.app.components]
serverapp = "none:none"
clientapp = "none:none"
"""


class FlowerTransport:
    """Sites that are reached through a Flower SuperLink.

    The SuperLink must have been started with ``--isolation process``. Use the transport in a
    ``with`` statement. The analyst's process needs no open port: it asks the server for messages.
    The server is trusted with nothing but delivery.

    Parameters
    ----------
    server : str
        Host and port of the SuperLink, such as ``"study.example.org:8000"``.
    root_certificates : str or path-like, optional
        A file of the certificates that may vouch for the server. By default, those that this
        machine trusts.
    patience : float, default=600.0
        Seconds to wait for the sites' answers to one question. Give more if a site needs longer to
        go through its table. For a site's hello and the end of a run, it is 30 seconds at most.

    Examples
    --------
    >>> from skdppca.federated.flower import FlowerTransport
    >>> transport = FlowerTransport("study.example.org:8000", root_certificates="ca.crt")
    >>> transport.server
    'study.example.org:8000'
    """

    def __init__(
        self,
        server: str,
        root_certificates: str | os.PathLike[str] | None = None,
        *,
        patience: float = 600.0,
    ) -> None:
        check_server(server)
        self.server = server
        self._roots = root_certificates
        self._patience = patience
        self._names: dict[int, str] = {}

    def __enter__(self) -> FlowerTransport:
        """Start a run of Flower's, which carries the messages."""
        roots = None if self._roots is None else Path(self._roots).read_bytes()
        try:
            self._start(roots)
        except (httpx.HTTPError, OSError) as error:
            raise ConnectionError(
                f"server={self.server!r} cannot be used ({error}); check the address, that "
                "root_certificates vouches for this server, and that flower-superlink 1.41 runs "
                "there with --isolation process"
            ) from None
        return self

    def _start(self, roots: bytes | None) -> None:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as bundle:
            bundle.writestr("pyproject.toml", BUNDLE)
        content = archive.getvalue()
        fab = Fab(hash_str=hashlib.sha256(content).hexdigest(), content=content)
        speaks = RuntimeVersionHttpInterceptor
        with ControlHttpClient.from_server_address(
            self.server, False, roots, [speaks("flwr CLI")]
        ) as control:
            control.StartRun(StartRunRequest(fab=fab))
        connect = partial(RuntimeHttpClient.from_server_address, self.server, False, roots)
        with connect([speaks("SuperExec")]) as runtime:
            # If another analyst starts a run just now, each may get the other's: they are alike.
            ask = AcquireTaskRequest(supported_task_types=[TaskType.SERVER_APP])
            acquired = runtime.AcquireTask(ask)
        if not acquired.token:
            raise OSError("another program there took the run")
        token = RuntimeTokenHttpInterceptor(acquired.token)
        self._client = connect([speaks("flwr-serverapp"), token])
        self._heart = HeartbeatSender(make_task_heartbeat_fn_http(self._client))
        self._heart.start()
        task = self._client.PullTaskInput(PullTaskInputRequest())
        self._run, self._task = task.run.run_id, task.task_id

    def __exit__(self, kind: type[BaseException] | None, *more: object) -> None:
        """End the run at the server."""
        self._heart.stop()
        status = SubStatus.COMPLETED if kind is None else SubStatus.FAILED
        with suppress(httpx.HTTPError):
            self._client.PushTaskOutput(PushTaskOutputRequest(sub_status=status, details=""))
        self._client.close()

    def exchange(
        self,
        message: Signed,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
        accepts: Callable[[str, Reply], bool],
    ) -> dict[str, Reply]:
        """Send the same message to some sites, and wait for their answers.

        Parameters
        ----------
        message : Message
        signature : str
        arrays : mapping of str to ndarray
        sites : sequence of str
            Names. A node of the server's that has not answered as another site is asked as well.
        accepts : callable
            Anybody can register a node at the server and reply whatever they like: what this does
            not accept is ignored, and the other nodes are asked on.

        Returns
        -------
        dict
            A reply by site. A site that did not answer in time is absent.
        """
        content = packed({"body": message.body.decode(), "signature": signature}, arrays)
        answers: dict[str, Reply] = {}
        asked: dict[str, int] = {}
        when: dict[int, float] = {}
        most = self._patience if isinstance(message, Request) else BRIEF_PATIENCE
        end = time.monotonic() + min(self._patience, most)
        while (missing := set(sites) - set(answers)) and time.monotonic() < end:
            # the server may be being restarted; until the patience ends
            with suppress(httpx.HTTPStatusError, *LOST):
                for node in self._to_ask(missing, when):
                    asked[self._send(node, content)] = node
                for number in list(asked):
                    pull = PullAppMessagesRequest(message_ids=[number])
                    answer = received(self._client, SERVER, pull)
                    if answer is None:
                        continue
                    node = asked.pop(number)
                    if answer.has_error():  # the node is gone: ask when it is back
                        when.pop(node, None)
                        continue
                    fields, vectors = unpacked(answer.content)
                    reply, name = Reply(fields, vectors.get("vector")), fields.get("site", "")
                    if name in missing and accepts(name, reply):
                        self._names[node], answers[name] = name, reply
            time.sleep(POLL)
        return answers

    def _to_ask(self, missing: set[str], when: dict[int, float]) -> list[int]:
        """List the nodes that may be these sites, if it is time to ask them."""
        due, now = [], time.monotonic()
        for info in self._client.GetNodes(GetNodesRequest()).nodes:
            node = info.node_id
            may_be = node not in self._names or self._names[node] in missing
            if may_be and when.get(node, 0.0) <= now:
                when[node] = now + AGAIN
                due.append(node)
        return due

    def _send(self, node: int, content: RecordDict) -> str:
        TaskIdentity.run_id, TaskIdentity.task_id = self._run, self._task
        TaskIdentity.node_id = SUPERLINK_NODE_ID
        ttl = self._patience + BRIEF_PATIENCE
        message = Message(content, node, MessageType.QUERY, ttl=ttl)
        return push(self._client, SERVER, message, PushAppMessagesRequest)


def check_server(server: str) -> None:
    """Refuse what is no address of a server."""
    if not re.fullmatch(r"([^\s/:\[\]]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}", server):
        raise ValueError(
            f"server={server!r} is no HOST:PORT; give both, such as study.example.org:8000"
        )


def push(client: Any, node: Node, message: Message, request: Callable[..., Any]) -> str:
    """Send a message and what it holds; return its id."""
    message.metadata.__dict__["_message_id"] = message.object_id
    with no_object_id_recompute():
        trees = [get_object_tree(message)]
        heads = [message_to_proto(remove_content_from_message(message))]
        accepted = client.PushMessages(request(messages_list=heads, message_object_trees=trees))
        run = message.metadata.run_id
        store = make_push_object_fn_protobuf(client.PushObject, node, run, accepted.session_id)
        wanted = set(accepted.objects_to_push)
        push_objects(get_all_nested_objects(message), store, object_ids_to_push=wanted)
    return message.metadata.message_id


def received(client: Any, node: Node, request: Any) -> Message | None:
    """Take the next message that a request brings, if there is one; it is empty if it is none.

    Parameters
    ----------
    client : client of Flower's
    node : Node
    request : protobuf message
        Asks the server for some messages.
    """
    response = client.PullMessages(request)
    for head, tree in zip(response.messages_list, response.message_object_trees, strict=False):
        message = message_from_proto(head)
        message.metadata.__dict__["_message_id"] = tree.object_id
        if not message.has_error():
            message.content = _content(client, node, head.metadata.run_id, tree)
        return message
    return None


def _content(client: Any, node: Node, run: int, tree: Any) -> RecordDict:
    pull, content = make_pull_object_fn_protobuf(client.PullObject, node, run), RecordDict()
    with suppress(httpx.HTTPStatusError):
        try:
            (whole,) = tree.children
            content = pull_and_inflate_object_from_tree(
                whole, pull, lambda _: None, return_type=RecordDict, max_time=MOST
            )
        except LOST:
            raise
        except Exception:  # its run is over, or whatever Flower finds wrong with it
            pass
        client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(node=node, run_id=run, message_object_id=tree.object_id)
        )
    return content


def packed(texts: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> RecordDict:
    """Pack what is sent: texts, and the arrays beside them."""
    content = RecordDict({TEXTS: ConfigRecord(dict(texts))})
    if arrays:  # Flower cannot read a record without any
        content[ARRAYS] = ArrayRecord({name: Array(array) for name, array in arrays.items()})
    return content


def unpacked(content: RecordDict) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Undo `packed`; nothing for what is none, and no value that is no text."""
    try:
        found = [pair for record in content.array_records.values() for pair in record.items()]
        texts = {k: v for k, v in content.config_records[TEXTS].items() if isinstance(v, str)}
        return texts, {name: one.numpy() for name, one in found}
    except Exception:  # anybody may have sent it
        return {}, {}
