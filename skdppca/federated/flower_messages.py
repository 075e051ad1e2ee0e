"""Flower messages: sent and received in the same way by the analyst and by a site.

Flower keeps what a message holds in a store of objects, apart from the message itself. This module
and its two callers, `flower` and `supernode`, are all that knows how flwr 1.41 does it.
"""

from __future__ import annotations

import math
import os
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
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
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.node_pb2 import Node
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    iterate_object_tree,
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
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

from .messages import declared_shapes
from .refusals import Refusal, Refused
from .transport import Reply

# Seconds between two looks for messages; Flower's own programs sleep for 3.
POLL = 0.2

# Seconds within which what a message holds must have followed its head: longer, and its sender has
# died.
MOST = 10.0
# Bytes in a second that a slow line carries.
SLOW = 2**18
# Seconds that one response may take.
MOST_RESPONSE = 60.0

# Bytes of one object, besides a study's names; of a part of arrays, which has a short head.
ROOM = 2**20
HEAD = 2**12
PART_BYTES = ROOM - HEAD

# The list of nodes, which anybody can make longer, may have `MANY` times the bytes of an object.
LIST = "nodes"
MANY = 64

# The records of a message: what it says, and then its arrays, as one stream of bytes in parts.
FIRST, PART = "first", "part-"
# Objects of a message besides these parts: their list, and the first record.
OTHERS = 2

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


def received(
    client: Any, node: Node, request: Any, room: int, seconds: float = MOST
) -> Message | None:
    """The next message that a request brings, if there is one; its content is empty if it is none.

    Parameters
    ----------
    client : client of Flower's
        That is `bounded`.
    node : Node
    request : protobuf message
        Asks the server for some messages.
    room : int
        Bytes that a message may hold. None of a larger one is read.
    seconds : float
        For what it holds to come, besides what `room` takes on a slow line.
    """
    with suppress(TooLarge):  # of a head that is none of ours; the server sends it once
        response = client.PullMessages(request)
        for head, tree in zip(response.messages_list, response.message_object_trees, strict=False):
            message = message_from_proto(head)
            message.metadata.__dict__["_message_id"] = tree.object_id
            if not message.has_error():
                message.content = _content(client, node, head, tree, room, seconds)
            return message
    return None


def _content(
    client: Any, node: Node, head: Any, tree: Any, room: int, seconds: float
) -> RecordDict:
    run, content = head.metadata.run_id, RecordDict()
    pull = make_pull_object_fn_protobuf(client.PullObject, node, run)
    with suppress(httpx.HTTPStatusError, TooLarge):
        try:
            (whole,) = tree.children
            most = seconds + room / SLOW
            if len(list(iterate_object_tree(whole))) <= OTHERS + math.ceil(room / PART_BYTES):
                content = pull_and_inflate_object_from_tree(
                    whole, pull, lambda _: None, return_type=RecordDict, max_time=most
                )
        except LOST:
            raise
        except Exception:  # its run is over, or whatever Flower finds wrong with it
            pass
        client.ConfirmMessageReceived(
            ConfirmMessageReceivedRequest(node=node, run_id=run, message_object_id=tree.object_id)
        )
    return content


def _packed(first: dict[str, Any], stream: bytes) -> RecordDict:
    content = RecordDict({FIRST: ConfigRecord(first)})
    for i, start in enumerate(range(0, len(stream), PART_BYTES)):
        content[f"{PART}{i}"] = ConfigRecord({"bytes": stream[start : start + PART_BYTES], "i": i})
    return content


def _unpacked(content: RecordDict) -> tuple[dict[str, Any], bytes] | None:
    """Undo `_packed`; None for what is none, whoever has sent it."""
    try:
        parts = [content[f"{PART}{i}"]["bytes"] for i in range(len(content) - 1)]
        return dict(content[FIRST]), b"".join(parts)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError):
        return None


def packed_request(
    body: bytes, signature: str, nonce: str, arrays: Mapping[str, np.ndarray]
) -> RecordDict:
    """What the analyst sends to a site."""
    stream = b"".join(arrays[name].astype("<f8").tobytes() for name in sorted(arrays))
    return _packed({"body": body, "signature": signature, "nonce": nonce}, stream)


def unpacked_request(content: RecordDict) -> tuple[bytes, str, str, dict[str, np.ndarray]]:
    """Undo `packed_request`, for content that anybody may have sent.

    Arrays that are not as large as declared are left out.

    Raises
    ------
    Refused
    """
    first, stream = _unpacked(content) or ({}, b"")
    body, signature, nonce = (first.get(name) for name in ("body", "signature", "nonce"))
    is_text = isinstance(signature, str) and isinstance(nonce, str)
    if not isinstance(body, bytes) or not is_text:
        raise Refused(Refusal.MALFORMED)
    arrays: dict[str, np.ndarray] = {}
    shapes = declared_shapes(body) if stream else {}
    if len(stream) == 8 * sum(map(math.prod, shapes.values())):
        numbers, start = np.frombuffer(stream, dtype="<f8").astype(np.float64), 0
        for name, shape in sorted(shapes.items()):
            end = start + math.prod(shape)
            arrays[name], start = numbers[start:end].reshape(shape), end
    return body, str(signature), str(nonce), arrays


def packed_reply(name: str, reply: Reply | Refused) -> RecordDict:
    """What a site sends to the analyst, with its name."""
    if isinstance(reply, Refused):
        said = {"refused": reply.code.value, "signature": reply.signature}
        return _packed({"site": name, **said}, b"")
    fields = {f"reply-{key}": text for key, text in reply.fields.items()}
    stream = b"" if reply.vector is None else reply.vector.astype("<u8").tobytes()
    return _packed({"site": name, **fields}, stream)


def unpacked_reply(content: RecordDict) -> tuple[str, Reply | Refused] | None:
    """Undo `packed_reply`. What is none, whoever has sent it, is no answer: None."""
    fields, stream = _unpacked(content) or ({}, b"")
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
