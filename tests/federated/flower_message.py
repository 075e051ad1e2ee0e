"""Messages of Flower's, for tests."""

from flwr.app.message import make_message
from flwr.app.metadata import Metadata
from flwr.supercore.date import now

from skdppca.federated.messages import Request
from skdppca.federated.questions import Array, Form, WrittenQuestion


def question(**arrays):
    """The text of a message that declares these arrays."""
    declared = {name: Array(name, one.shape) for name, one in arrays.items()}
    return Request(
        run="ab" * 16,
        plan="cd" * 32,
        round=1,
        question=WrittenQuestion((), Form("Count", declared)),
        inputs={},
        grid_log2=0,
        noise_sd=1.0,
        keys={},
    ).body


def letter(content, kind="query.answer", reply_to="", run=1, node=2, **changes):
    """A message of Flower's."""
    facts = {
        "run_id": run,
        "message_id": "",
        "src_node_id": 1,
        "dst_node_id": node,
        "reply_to_message_id": reply_to,
        "group_id": "",
        "created_at": now().timestamp(),
        "ttl": 100.0,
        "message_type": kind,
        "src_task_id": 0,
    }
    message = make_message(Metadata(**facts | changes), content)
    message.metadata.__dict__["_message_id"] = message.object_id
    return message
