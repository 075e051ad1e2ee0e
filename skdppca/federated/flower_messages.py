"""Flower messages: sent and received in the same way by the analyst and by a site.

Flower keeps what a message holds in a store of objects, apart from the message itself. This module
and its two callers, `flower` and `supernode`, are all that knows how flwr 1.41 does it.
"""

from __future__ import annotations

import json
import math
import os
import re
import ssl
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

# Flower reads these when it is imported. Nothing is to be sent to anybody but the study's server.
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")

import httpx
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest, ObjectTree, PullObjectRequest
from flwr.proto.node_pb2 import Node
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_body,
    get_object_tree,
    no_object_id_recompute,
)
from flwr.supercore.inflatable.inflatable_protobuf_utils import make_push_object_fn_protobuf
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError, push_objects
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

from .messages import declared_bytes, declared_shapes
from .refusals import Refusal, Refused
from .transport import Reply

# Seconds between two looks for messages; Flower's own programs sleep for 3.
POLL = 0.2

# Seconds within which a message's first record must have followed its head, and each further part
# the one before it: longer, and its sender has died.
MOST = 10.0
# Seconds that one response may take.
MOST_RESPONSE = 60.0

# Bytes of one object, besides a study's names; of a part of arrays, which has a short head.
ROOM = 2**20
HEAD = 2**12
PART_BYTES = ROOM - HEAD

# The list of nodes, which anybody can make longer, may have `MANY` times the bytes of an object.
LIST = "nodes"
MANY = 64

# Messages that are waited for at once, and that are taken at one look.
MOST_WAITING = 64
MOST_NEW = 16

# The records of a message: what it says, and then its arrays, as one stream of bytes in parts.
FIRST, PART = "first", "part-"

# What is raised if a connection breaks, or is too slow.
LOST = (httpx.TransportError, OSError, ObjectPushError)


def check_server(server: str) -> None:
    """Refuse what is no address of a server."""
    if not re.fullmatch(r"([^\s/:\[\]]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}", server):
        raise ValueError(
            f"server={server!r} is no HOST:PORT; give both, such as study.example.org:8000"
        )


def certificates(
    path: str | os.PathLike[str] | None, name: str = "root_certificates="
) -> bytes | None:
    """Read the certificates that may vouch for the server; None stands for those of this machine.

    Parameters
    ----------
    path : str, path-like or None
    name : str
        What the user calls the path.

    Raises
    ------
    ValueError
        If the file cannot be read, or holds no certificate.
    """
    if path is None:
        return None
    try:
        content = Path(path).read_bytes()
        ssl.create_default_context(cadata=content.decode())
    except (ssl.SSLError, UnicodeDecodeError):
        reason = "it holds no certificate in PEM format"
    except OSError as error:
        reason = str(error.strerror)
    else:
        return content
    raise ValueError(
        f"{name}{os.fsdecode(path)}: {reason}; give the file of certificates that vouch for the "
        "server, such as the ca.crt of whoever runs it"
    )


def speaks(component: str) -> RuntimeVersionHttpInterceptor:
    """Say to the server which of Flower's programs this one stands for."""
    return RuntimeVersionHttpInterceptor(component_name=component)


def bounded(client: Any, room: int) -> None:
    """Let a client of Flower's read no response that is larger than this, or that takes too long.

    Flower reads whatever the server sends into memory, and anybody may have sent it there.
    """
    http: httpx.Client = client._client
    http.headers["accept-encoding"] = "identity"

    def bound(response: httpx.Response) -> None:
        response.headers.pop("content-encoding", None)  # nothing is unpacked
        stream = response.stream
        assert isinstance(stream, httpx.SyncByteStream)
        many = MANY if response.request.url.path.endswith(LIST) else 1
        response.stream = Bounded(stream, many * room + HEAD, time.monotonic() + MOST_RESPONSE)

    http.event_hooks = {"request": [], "response": [bound]}


class TooLarge(ValueError):
    """A response that is larger than a message of ours can be."""


class Bounded(httpx.SyncByteStream):
    """The body of a response, as far as it may be read.

    Parameters
    ----------
    stream : httpx.SyncByteStream
    most : int
        Bytes.
    end : float
        When it must be over.
    """

    def __init__(self, stream: httpx.SyncByteStream, most: int, end: float) -> None:
        self._stream, self._most, self._end = stream, most, end

    def __iter__(self) -> Iterator[bytes]:
        read = 0
        for chunk in self._stream:
            read += len(chunk)
            if read > self._most:
                raise TooLarge("the response is too large")
            if time.monotonic() > self._end:
                raise httpx.ReadTimeout("the response takes too long")
            yield chunk

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def push(client: Any, node: Node, message: Message, request: Callable[..., Any]) -> str:
    """Send a message and what it holds, its arrays last; return its id."""
    message.metadata.__dict__["_message_id"] = message.object_id
    with no_object_id_recompute():
        trees = [get_object_tree(message)]
        heads = [message_to_proto(remove_content_from_message(message))]
        accepted = client.PushMessages(request(messages_list=heads, message_object_trees=trees))
        run = message.metadata.run_id
        store = make_push_object_fn_protobuf(client.PushObject, node, run, accepted.session_id)
        wanted = set(accepted.objects_to_push)
        objects = get_all_nested_objects(message)
        parts = {one.object_id for name, one in message.content.items() if name != FIRST}
        ordered = {name: objects[name] for name in sorted(objects, key=parts.__contains__)}
        push_objects(ordered, store, object_ids_to_push=wanted)
    return message.metadata.message_id


@dataclass
class Incoming:
    """A message that has come in.

    Parameters
    ----------
    message : Message
        Without its content.
    first : dict
        What it says.
    stream : bytes
        Its arrays; nothing if there are none, or more than there may be.
    """

    message: Message
    first: dict[str, Any]
    stream: bytes = b""


@dataclass
class Waiting:
    """A message of which something has not come yet.

    Parameters
    ----------
    steps : generator
        Goes on with it; yields whether a part has come.
    confirm : callable
        Lets the server forget it.
    answers : str
        The id of the message that it is a reply to.
    due : float
        When it is given up, if nothing more has come until then.
    """

    steps: Generator[bool, None, Incoming]
    confirm: Callable[[], None]
    answers: str
    due: float = field(default_factory=lambda: time.monotonic() + MOST)


class Inbox:
    """Messages as they come in. None keeps another one waiting, and none is read beyond its room.

    Anybody who reaches the server can send the head of a message and nothing else, or all kinds of
    objects with it. So a look asks once for every part that is missing, and goes on.

    Parameters
    ----------
    client : client of Flower's
        That is `bounded`.
    node : Node
    room : callable
        ``room(first)`` is how many bytes of arrays a message may bring, by its first record.
    """

    def __init__(self, client: Any, node: Node, room: Callable[[Mapping[str, Any]], int]) -> None:
        self._client, self._node, self._room = client, node, room
        self._waiting: list[Waiting] = []

    def look(self, requests: Iterable[Any], most: int = 1) -> list[Incoming]:
        """The messages that are complete by now.

        Parameters
        ----------
        requests : iterable of protobuf messages
            Each asks the server for some messages.
        most : int, default=1
            How often each of them is sent, as long as there are messages.
        """
        while True:
            for request in requests:
                for _ in range(most):
                    if self._is_coming(request) or not self._take(request):
                        break
            done, moved = self._step()
            if done or not moved:
                return done

    def _is_coming(self, request: Any) -> bool:
        """Whether the reply that it asks for is on its way; the server gives its head once.

        Asked for again, the server says that there is none, as if the node were gone.
        """
        wanted = getattr(request, "message_ids", ())
        return len(wanted) > 0 and {one.answers for one in self._waiting}.issuperset(wanted)

    def _take(self, request: Any) -> bool:
        """Wait for the messages that a request brings; whether there is one."""
        try:
            response = self._client.PullMessages(request)
        except TooLarge:  # of a head that is none of ours; the server sends it once
            return True
        heads, trees = response.messages_list, response.message_object_trees
        for head, tree in zip(heads, trees, strict=False):
            if len(self._waiting) >= MOST_WAITING:  # who has waited longest is given up
                self._waiting.sort(key=lambda one: one.due)
                self._waiting.pop(0).confirm()
            confirm = partial(self._confirm, head.metadata.run_id, tree.object_id)
            answers = head.metadata.reply_to_message_id
            self._waiting.append(Waiting(self._received(head, tree), confirm, answers))
        return len(heads) > 0

    def _step(self) -> tuple[list[Incoming], bool]:
        """What is complete after one more attempt at every message, and whether parts have come."""
        done, left, moved = [], [], False
        for one in self._waiting:
            try:
                if next(one.steps):
                    moved, one.due = True, time.monotonic() + MOST
                if time.monotonic() <= one.due:
                    left.append(one)
                    continue
            except StopIteration as end:
                done.append(end.value)
            except LOST:
                raise
            except Exception:  # its run is over, or whatever Flower or numpy find wrong with it
                pass
            one.confirm()
        self._waiting = left
        return done, moved

    def _confirm(self, run: int, message: str) -> None:
        with suppress(httpx.HTTPStatusError, TooLarge):
            self._client.ConfirmMessageReceived(
                ConfirmMessageReceivedRequest(
                    node=self._node, run_id=run, message_object_id=message
                )
            )

    def _received(self, head: Any, tree: ObjectTree) -> Generator[bool, None, Incoming]:
        """Read a message: what it says, and only then what else it may bring."""
        message = message_from_proto(head)
        message.metadata.__dict__["_message_id"] = tree.object_id
        if message.has_error():
            return Incoming(message, {})
        run = head.metadata.run_id
        content = yield from self._object(run, tree.children[0].object_id)
        names: dict[str, str] = json.loads(get_object_body(content, RecordDict))
        content = yield from self._object(run, names.pop(FIRST))
        found = Incoming(message, dict(ConfigRecord.inflate(content)))
        room = self._room(found.first)
        if len(names) > math.ceil(room / PART_BYTES):
            return found
        stream = bytearray()
        for i in range(len(names)):
            content = yield from self._object(run, names[f"{PART}{i}"])
            stream += bytes(ConfigRecord.inflate(content)["bytes"])  # type: ignore[arg-type]
            if len(stream) > room:
                return found
            yield True
        found.stream = bytes(stream)
        return found

    def _object(self, run: int, name: str) -> Generator[bool, None, bytes]:
        request = PullObjectRequest(node=self._node, run_id=run, object_id=name)
        while True:
            response = self._client.PullObject(request)
            if not response.object_found:
                raise KeyError(name)
            if response.object_available:
                return bytes(response.object_content)
            yield False


def _packed(first: dict[str, Any], stream: bytes) -> RecordDict:
    content = RecordDict({FIRST: ConfigRecord(first)})
    for i, start in enumerate(range(0, len(stream), PART_BYTES)):
        content[f"{PART}{i}"] = ConfigRecord({"bytes": stream[start : start + PART_BYTES], "i": i})
    return content


def packed_request(
    body: bytes, signature: str, nonce: str, arrays: Mapping[str, np.ndarray]
) -> RecordDict:
    """What the analyst sends to a site."""
    stream = b"".join(arrays[name].astype("<f8").tobytes() for name in sorted(arrays))
    return _packed({"body": body, "signature": signature, "nonce": nonce}, stream)


def unpacked_request(
    first: Mapping[str, Any], stream: bytes
) -> tuple[bytes, str, str, dict[str, np.ndarray]]:
    """Undo `packed_request`, for content that anybody may have sent.

    Arrays that are not as large as declared are left out.

    Raises
    ------
    Refused
    """
    body, signature, nonce = (first.get(name) for name in ("body", "signature", "nonce"))
    if not isinstance(body, bytes):
        raise Refused(Refusal.MALFORMED)
    if not isinstance(signature, str) or not isinstance(nonce, str):
        raise Refused(Refusal.MALFORMED)
    arrays: dict[str, np.ndarray] = {}
    if stream and len(stream) == declared_bytes(body):
        numbers, start = np.frombuffer(stream, dtype="<f8").astype(np.float64), 0
        for name, shape in sorted(declared_shapes(body).items()):
            end = start + math.prod(shape)
            arrays[name], start = numbers[start:end].reshape(shape), end
    return body, signature, nonce, arrays


def packed_reply(name: str, reply: Reply | Refused) -> RecordDict:
    """What a site sends to the analyst, with its name."""
    if isinstance(reply, Refused):
        said = {"refused": reply.code.value, "signature": reply.signature}
        return _packed({"site": name, **said}, b"")
    fields = {f"reply-{key}": text for key, text in reply.fields.items()}
    stream = b"" if reply.vector is None else reply.vector.astype("<u8").tobytes()
    return _packed({"site": name, **fields}, stream)


def unpacked_reply(first: Mapping[str, Any], stream: bytes) -> tuple[str, Reply | Refused] | None:
    """Undo `packed_reply`. What is none, whoever has sent it, is no answer: None."""
    fields = dict(first)
    name = fields.pop("site", None)
    if not isinstance(name, str) or not all(isinstance(text, str) for text in fields.values()):
        return None
    if "refused" in fields:
        try:
            return name, Refused(Refusal(fields["refused"]), fields.get("signature", ""))
        except ValueError:
            return None
    texts = {key.removeprefix("reply-"): text for key, text in fields.items()}
    if len(stream) % 8:
        return None
    vector = np.frombuffer(stream, dtype="<u8").astype(np.uint64) if stream else None
    return name, Reply(texts, vector)
