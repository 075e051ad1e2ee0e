"""Flower messages: sent and received in the same way by the analyst and by a site.

Flower keeps what a message holds in a store of objects, apart from the message itself. This module
and its two callers, `flower` and `supernode`, are all that knows how flwr 1.41 does it. Flower's
public interface would run the code that a server ships to a site, and so they do not use it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

# Flower reads these when it is imported. Nothing is to be sent to anybody but the study's server.
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")

import httpx
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.node_pb2 import Node
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

from .transport import Reply

# Seconds between two looks for messages; Flower's own programs sleep for 3.
POLL = 0.2

# Seconds within which what a message holds must have followed its head: longer, and its sender has
# died.
MOST = 60.0

# The records of a message: what it says, and its arrays.
TEXTS, ARRAYS = "texts", "arrays"

# What is raised if a connection breaks, or is too slow.
LOST = (httpx.TransportError, OSError, ObjectPushError)


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


def _packed(texts: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> RecordDict:
    content = RecordDict({TEXTS: ConfigRecord(texts)})
    if arrays:  # Flower cannot read a record without any
        content[ARRAYS] = ArrayRecord({name: Array(array) for name, array in arrays.items()})
    return content


def _unpacked(content: RecordDict) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Undo `_packed`; nothing for what is none, whoever has sent it."""
    try:
        found = [pair for record in content.array_records.values() for pair in record.items()]
        return dict(content.config_records[TEXTS]), {name: one.numpy() for name, one in found}
    except Exception:  # anybody may have sent it
        return {}, {}


def packed_request(body: bytes, signature: str, arrays: Mapping[str, np.ndarray]) -> RecordDict:
    """Pack what the analyst sends to a site."""
    return _packed({"body": body, "signature": signature}, arrays)


def unpacked_request(content: RecordDict) -> tuple[bytes, str, dict[str, np.ndarray]]:
    """Undo `packed_request`; what is none, whoever has sent it, is empty."""
    texts, arrays = _unpacked(content)
    body, signature = texts.get("body"), texts.get("signature")
    if isinstance(body, bytes) and isinstance(signature, str):
        return body, signature, arrays
    return b"", "", {}


def packed_reply(reply: Reply) -> RecordDict:
    """Pack what a site sends to the analyst."""
    return _packed(reply.fields, {} if reply.vector is None else {"vector": reply.vector})


def unpacked_reply(content: RecordDict) -> Reply:
    """Undo `packed_reply`; what is none, whoever has sent it, is a reply that nobody signed."""
    fields, arrays = _unpacked(content)
    texts = {name: text for name, text in fields.items() if isinstance(text, str)}
    return Reply(texts, arrays.get("vector"))
