"""The analyst's connection to the sites, through a Flower SuperLink."""

from __future__ import annotations

import hashlib
import io
import os
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np

from .flower_messages import (  # before flwr
    LOST,
    POLL,
    check_server,
    packed_request,
    push,
    received,
    unpacked_reply,
)

# isort: split
import httpx
from flwr.app import Message, MessageType, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID, SubStatus
from flwr.proto.control_pb2 import StartRunRequest
from flwr.proto.fab_pb2 import Fab
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
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor, RuntimeVersionHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.task_identity import TaskIdentity

from .messages import Message as Signed
from .messages import Request
from .transport import Reply

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
    >>> transport
    FlowerTransport('study.example.org:8000')
    """

    def __init__(
        self,
        server: str,
        root_certificates: str | os.PathLike[str] | None = None,
        *,
        patience: float = 600.0,
    ) -> None:
        check_server(server)
        if not patience > 0:
            raise ValueError(
                f"patience={patience!r} leaves no time to answer; give seconds, such as 600.0"
            )
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
            reason = str(error)
        else:
            return self
        raise ConnectionError(
            f"server={self.server!r} cannot be used ({reason}); check the address, that "
            "root_certificates vouches for this server, and that flower-superlink 1.41 runs there "
            "with --isolation process"
        )

    def _start(self, roots: bytes | None) -> None:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as bundle:
            bundle.writestr("pyproject.toml", BUNDLE)
        content = archive.getvalue()
        fab = Fab(hash_str=hashlib.sha256(content).hexdigest(), content=content)
        with ControlHttpClient.from_server_address(
            self.server, False, roots, [RuntimeVersionHttpInterceptor("flwr CLI")]
        ) as control:
            control.StartRun(StartRunRequest(fab=fab))
        with RuntimeHttpClient.from_server_address(
            self.server, False, roots, [RuntimeVersionHttpInterceptor("SuperExec")]
        ) as runtime:
            # If another analyst starts a run just now, each may get the other's: they are alike.
            acquired = runtime.AcquireTask(
                AcquireTaskRequest(supported_task_types=[TaskType.SERVER_APP])
            )
        if not acquired.token:
            raise OSError("another program there took the run")
        self._client = RuntimeHttpClient.from_server_address(
            self.server,
            False,
            roots,
            [
                RuntimeVersionHttpInterceptor("flwr-serverapp"),
                RuntimeTokenHttpInterceptor(acquired.token),
            ],
        )
        self._heart = HeartbeatSender(make_task_heartbeat_fn_http(self._client))
        self._heart.start()
        task = self._client.PullTaskInput(PullTaskInputRequest())
        self._run, self._task = task.run.run_id, task.task_id
        self._node = Node(node_id=SUPERLINK_NODE_ID)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the run at the server."""
        self._heart.stop()
        status = SubStatus.COMPLETED if error is None else SubStatus.FAILED
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
        content = packed_request(message.body, signature, arrays)
        answers: dict[str, Reply] = {}
        asked: dict[str, int] = {}
        when: dict[int, float] = {}
        most = self._patience if isinstance(message, Request) else BRIEF_PATIENCE
        end = time.monotonic() + min(self._patience, most)
        while (missing := set(sites) - set(answers)) and time.monotonic() < end:
            try:
                for node in self._to_ask(missing, when):
                    asked[self._send(node, content)] = node
                for number in list(asked):
                    pull = PullAppMessagesRequest(message_ids=[number])
                    answer = received(self._client, self._node, pull)
                    if answer is None:
                        continue
                    node = asked.pop(number)
                    if answer.has_error():  # the node is gone: ask when it is back
                        when.pop(node, None)
                        continue
                    reply = unpacked_reply(answer.content)
                    name = reply.fields.get("site", "")
                    if name in missing and accepts(name, reply):
                        self._names[node], answers[name] = name, reply
            except (httpx.HTTPStatusError, *LOST):
                pass  # the server may be being restarted; until the patience ends
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
        return push(self._client, self._node, message, PushAppMessagesRequest)

    def __repr__(self) -> str:
        return f"FlowerTransport({self.server!r})"
