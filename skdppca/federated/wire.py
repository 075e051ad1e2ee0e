"""Flower messages: sent and received in the same way by the analyst and by a site.

Flower keeps what a message holds in a store of objects, apart from the message itself. This module
and its two callers, `flower` and `supernode`, are all that knows how flwr 1.41 does it.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

# Flower reads these when it is imported. Nothing is to be sent to anybody but the study's server.
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")

import httpx
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_to_proto
from flwr.proto.node_pb2 import Node
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    no_object_id_recompute,
)
from flwr.supercore.inflatable.inflatable_protobuf_utils import (
    make_confirm_message_received_fn_protobuf,
    make_pull_object_fn_protobuf,
    make_push_object_fn_protobuf,
)
from flwr.supercore.inflatable.inflatable_utils import (
    ObjectPushError,
    pull_and_inflate_object_from_tree,
    push_objects,
)
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor

from .refusals import Refusal, Refused
from .transport import Reply

__all__ = [
    "LOST",
    "POLL",
    "certificates",
    "check_server",
    "packed_reply",
    "packed_request",
    "pull",
    "push",
    "speaks",
    "unpacked_reply",
    "unpacked_request",
]

# Seconds between two looks for messages (Flower's own programs sleep for 3), and the most that the
# parts of a message may take to follow it: longer, and its sender has died.
POLL, MOST = 0.2, 60.0

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


def pull(client: Any, node: Node, request: Any) -> list[Message]:
    """Receive the messages that wait, and what they hold.

    A message that does not come whole, or is none, is left out: its sender will ask again.
    """
    response = client.PullMessages(request)
    messages = []
    for head, tree in zip(response.messages_list, response.message_object_trees, strict=True):
        run = head.metadata.run_id
        try:
            message = pull_and_inflate_object_from_tree(
                tree,
                make_pull_object_fn_protobuf(client.PullObject, node, run),
                make_confirm_message_received_fn_protobuf(client.ConfirmMessageReceived, node, run),
                return_type=Message,
                max_time=MOST,
                initial_backoff=POLL,
            )
        except LOST:
            raise
        except Exception:  # its run is over, or whatever Flower finds wrong with it
            continue
        message.metadata.__dict__["_message_id"] = tree.object_id
        messages.append(message)
    return messages


def packed_request(body: bytes, signature: str, arrays: Mapping[str, np.ndarray]) -> RecordDict:
    """What the analyst sends to a site."""
    content = RecordDict({"request": ConfigRecord({"body": body, "signature": signature})})
    if arrays:
        content["arrays"] = ArrayRecord({name: Array(array) for name, array in arrays.items()})
    return content


def unpacked_request(content: RecordDict) -> tuple[bytes, str, dict[str, np.ndarray]]:
    """Undo `packed_request`, for content that anybody may have sent.

    Raises
    ------
    Refused
    """
    with suppress(Exception):  # whatever Flower or numpy find wrong with it
        request = content.config_records["request"]
        body, signature = request["body"], request["signature"]
        records = content.array_records.get("arrays")
        arrays = {} if records is None else {name: one.numpy() for name, one in records.items()}
        if isinstance(body, bytes) and isinstance(signature, str):
            return body, signature, arrays
    raise Refused(Refusal.MALFORMED)


def packed_reply(name: str, reply: Reply | Refused) -> RecordDict:
    """What a site sends to the analyst, with its name."""
    if isinstance(reply, Refused):
        fields, vector = {"refused": reply.code.value}, None
    else:
        fields, vector = {f"reply-{key}": text for key, text in reply.fields.items()}, reply.vector
    content = RecordDict({"reply": ConfigRecord({"site": name, **fields})})
    if vector is not None:
        content["arrays"] = ArrayRecord({"vector": Array(vector)})
    return content


def unpacked_reply(content: RecordDict) -> tuple[str, Reply | Refused] | None:
    """Undo `packed_reply`. What is none, whoever has sent it, is no answer: None."""
    try:
        fields = dict(content.config_records["reply"])
        name = fields.pop("site")
        if not isinstance(name, str):
            return None
        texts = {key.removeprefix("reply-"): str(text) for key, text in fields.items()}
        if "refused" in texts:
            return name, Refused(Refusal(texts["refused"]))
        record = content.array_records.get("arrays")
        return name, Reply(texts, None if record is None else record["vector"].numpy())
    except Exception:  # whatever Flower or numpy find wrong with it
        return None
