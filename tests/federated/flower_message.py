"""Messages of Flower's, for tests."""

from flwr.app.message import make_message
from flwr.app.metadata import Metadata
from flwr.supercore.date import now


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
