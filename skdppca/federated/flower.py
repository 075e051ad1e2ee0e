"""The analyst's connection to the sites, through a Flower SuperLink."""

from __future__ import annotations

import hashlib
import io
import os
import random
import time
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import inf
from types import TracebackType

import numpy as np

from .flower_messages import (  # before flwr
    LOST,
    MOST,
    POLL,
    ROOM,
    bounded,
    certificates,
    check_server,
    packed_request,
    push,
    received,
    speaks,
    unpacked_reply,
)

# isort: split
import httpx
from flwr.app import RecordDict
from flwr.app.message import make_message
from flwr.app.metadata import Metadata
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
from flwr.supercore.date import now
from flwr.supercore.heartbeat import HeartbeatSender, make_task_heartbeat_fn_http
from flwr.supercore.interceptors import RuntimeTokenHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient

from .refusals import Refused, is_busy
from .transport import Action, Expected, Reply

# Seconds after which a site is asked again that has not answered; doubled each time.
AGAIN = 10.0

# A site that is there says hello, or ends a run, at once: waiting for longer is of no use.
BRIEF_PATIENCE = 30.0

# Nodes that have not said whose they are, and that are asked, or looked at, at once.
MOST_UNKNOWN = 20
# Seconds that what the reply of such a node holds may take to come.
BRIEF = 2.0

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
        self._plan: tuple[bytes, str] | None = None

    def __enter__(self) -> FlowerTransport:
        """Start a run of Flower's, which carries the messages."""
        roots = certificates(self._roots)
        try:
            self._start(roots)
        except httpx.HTTPStatusError as error:
            reason = f"it answered with status {error.response.status_code}"
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
            self.server, False, roots, [speaks("flwr CLI")]
        ) as control:
            control.StartRun(StartRunRequest(fab=fab))
        with RuntimeHttpClient.from_server_address(
            self.server, False, roots, [speaks("SuperExec")]
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
            [speaks("flwr-serverapp"), RuntimeTokenHttpInterceptor(acquired.token)],
        )
        bounded(self._client, ROOM)
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
        action: Action,
        body: bytes,
        signature: str,
        arrays: Mapping[str, np.ndarray],
        sites: Sequence[str],
        expected: Expected | None = None,
    ) -> dict[str, Reply | Refused]:
        """Send the same message to some sites, and wait for their answers.

        Parameters
        ----------
        action : {"hello", "answer", "close"}
        body : bytes
        signature : str
        arrays : mapping of str to ndarray
        sites : sequence of str
            Names. A node of the server's is asked for its own name by saying hello, once and again
            whenever a site seems to be lost.
        expected : Expected
            What a site must have signed. Anybody can register a node at the server and reply
            whatever they like: such replies are ignored, and the other nodes are asked on.

        Returns
        -------
        dict
            A `Reply` or a `Refused` by site. A site that did not answer in time is absent.
        """
        if expected is None:
            raise TypeError("expected is missing: without it anybody could answer for a site")
        contents: dict[str, RecordDict] = {
            action: packed_request(body, signature, expected.nonce, arrays)
        }
        awaited: dict[str, Expected] = {action: expected}
        if action == "hello":
            self._plan, self._names = (body, signature), {}
        elif self._plan is not None:
            plan, signed = self._plan
            awaited["hello"] = Expected.of("hello", plan, signed, {}, expected.keys)
            contents["hello"] = packed_request(plan, signed, awaited["hello"].nonce, {})
        answers: dict[str, Reply | Refused] = {}
        asked: dict[str, tuple[int, str]] = {}
        when: dict[tuple[int, str], tuple[float, float]] = {}
        end = time.monotonic() + min(self._patience, inf if action == "answer" else BRIEF_PATIENCE)
        while (missing := set(sites) - set(answers)) and time.monotonic() < end:
            try:
                for node, kind in self._to_ask(action, missing, when):
                    _, pause = when.get((node, kind), (0.0, AGAIN))
                    when[node, kind] = time.monotonic() + pause, 2 * pause
                    asked[self._send(node, kind, contents[kind])] = node, kind
                for number in self._looks(asked):
                    node, kind = asked[number]
                    message = received(
                        self._client,
                        self._node,
                        PullAppMessagesRequest(message_ids=[number]),
                        8 * expected.entries * (kind == action),
                        MOST if node in self._names else BRIEF,
                    )
                    if message is None:
                        continue
                    del asked[number]
                    if message.has_error():  # the node is gone: ask when it is back
                        when.pop((node, kind), None)
                        continue
                    found = unpacked_reply(message.content)
                    if found is None or not awaited[kind].is_from(*found):
                        continue  # anybody may have sent it
                    name, reply = found
                    self._names[node] = name
                    if kind == action and name in missing and not is_busy(reply):
                        answers[name] = reply
            except LOST:
                pass  # the server may be being restarted; until the patience ends
            except httpx.HTTPStatusError as error:
                if error.response.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
                    raise self._lost(error.response.status_code) from None
            time.sleep(POLL)
        return answers

    def _to_ask(
        self, action: Action, missing: set[str], when: Mapping[tuple[int, str], tuple[float, float]]
    ) -> list[tuple[int, str]]:
        """The nodes of these sites, and some that have not said whose they are, if it is time."""
        known, unknown = [], []
        for info in self._client.GetNodes(GetNodesRequest()).nodes:
            name = self._names.get(info.node_id)
            if name is None and (action == "hello" or self._plan is not None):
                unknown.append((info.node_id, "hello"))
            elif name in missing:
                known.append((info.node_id, str(action)))
        random.shuffle(unknown)  # who has registered many nodes comes first no more often
        now = time.monotonic()
        due = [
            [one for one in many if when.get(one, (0.0,))[0] <= now] for many in (known, unknown)
        ]
        return [*due[0], *due[1][:MOST_UNKNOWN]]

    def _looks(self, asked: Mapping[str, tuple[int, str]]) -> list[str]:
        """The messages whose replies are looked for now: those to known nodes come first."""
        known = [number for number, (node, _) in asked.items() if node in self._names]
        unknown = [number for number in asked if number not in known]
        random.shuffle(unknown)
        return [*known, *unknown[:MOST_UNKNOWN]]

    def _send(self, node: int, kind: str, content: RecordDict) -> str:
        metadata = Metadata(
            run_id=self._run,
            message_id="",
            src_node_id=SUPERLINK_NODE_ID,
            dst_node_id=node,
            reply_to_message_id="",
            group_id="",
            created_at=now().timestamp(),
            ttl=self._patience + BRIEF_PATIENCE,
            message_type=f"query.{kind}",
            src_task_id=self._task,
        )
        message = make_message(metadata, content)
        return push(self._client, self._node, message, PushAppMessagesRequest)

    def _lost(self, status: int) -> ConnectionError:
        return ConnectionError(
            f"server={self.server!r} has ended the run (status {status}); what was charged stays "
            "charged; see whether flower-superlink still runs, then begin a new run"
        )

    def __repr__(self) -> str:
        return f"FlowerTransport({self.server!r})"
