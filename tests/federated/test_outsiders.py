"""What somebody without any key of the study can do: nothing but be ignored."""

import hashlib
import io
import re

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.app.message import make_message, remove_content_from_message
from flwr.app.metadata import Metadata
from flwr.common.serde import message_to_proto
from flwr.proto.fleet_pb2 import PullMessagesRequest, PullMessagesResponse
from flwr.proto.message_pb2 import PullObjectResponse
from flwr.proto.node_pb2 import Node, NodeInfo
from flwr.proto.runtime_pb2 import GetNodesResponse
from flwr.supercore.date import now
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    no_object_id_recompute,
)

from skdppca import DPGauss
from skdppca.federated import LocalSites, Refusal, SitesError, fit_sites, supernode
from skdppca.federated import flower as flower_module
from skdppca.federated import site as site_module
from skdppca.federated.flower import FlowerTransport, packed, received, unpacked
from skdppca.federated.messages import Request, RunPlan, digest_of, read_message
from skdppca.federated.transport import Reply
from skdppca.noise import SharedQuery

from .local_sites import runs_of


def pickled():
    """An array whose text would be unpickled."""
    out = io.BytesIO()
    np.save(out, np.array([{}], dtype=object), allow_pickle=True)
    return out.getvalue()


PICKLED = pickled()


def letter(content, kind="query", reply_to="", run=1, node=2, **changes):
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


# --- a server, as far as messages need one


class Server:
    """Heads that wait, and the objects that have come."""

    def __init__(self):
        self.heads, self.objects, self.pulled, self.confirmed = [], {}, [], []

    def post(self, message, but=()):
        """Take a message, without some of its records."""
        with no_object_id_recompute():
            missing = {message.content[name].object_id for name in but}
            for name, one in get_all_nested_objects(message).items():
                self.objects[name] = b"" if name in missing else one.deflate()
            head = message_to_proto(remove_content_from_message(message))
            self.heads.append((head, get_object_tree(message)))

    def PullMessages(self, request):
        head, tree = self.heads.pop(0) if self.heads else (None, None)
        if head is None:
            return PullMessagesResponse()
        return PullMessagesResponse(messages_list=[head], message_object_trees=[tree])

    def PullObject(self, request):
        self.pulled.append(request.object_id)
        content = self.objects.get(request.object_id)
        return PullObjectResponse(
            object_found=content is not None,
            object_available=content != b"",
            object_content=content or b"",
        )

    def ConfirmMessageReceived(self, request):
        self.confirmed.append(request.message_object_id)


@pytest.fixture(autouse=True)
def brief(monkeypatch):
    monkeypatch.setattr(flower_module, "MOST", 0.05)


def read(server):
    """The next message, as a site reads it."""
    return received(server, Node(node_id=2), PullMessagesRequest())


def said(message):
    """The text of a message; empty if it is none."""
    return unpacked(message.content)[0].get("body", "")


def request(body="{}"):
    return packed({"body": body, "signature": ""}, {})


@pytest.mark.parametrize("has_body", [True, False])
def test_a_message_that_is_not_whole_is_given_up_and_the_next_one_is_read(has_body):
    server = Server()
    server.post(letter(request("bad")), but=[] if has_body else ["texts"])
    if has_body:
        _, tree = server.heads[0]
        del tree.children[:]
    server.post(letter(request("whole")))
    assert [said(read(server)) for _ in range(2)] == ["", "whole"]
    assert len(server.confirmed) == 2 and read(server) is None


NO_TEXTS = [
    {},
    {"body": "{}"},
    {"signature": ""},
    {"body": [1, 2], "signature": ""},
    {"body": b"{}", "signature": ""},
    {"body": "{}", "signature": 7},
    {"body": "{}", "signature": b"aa"},
]
NO_ARRAYS = [("float64", (4,), b"nothing"), ("object", (1,), PICKLED)]
NONSENSE = [
    RecordDict({}),
    RecordDict({"other": ConfigRecord({"body": "{}"})}),
    *(RecordDict({"texts": ConfigRecord(texts)}) for texts in NO_TEXTS),
    *(
        RecordDict(
            {
                "texts": ConfigRecord({"body": "{}", "signature": ""}),
                "arrays": ArrayRecord({"a0": Array(dtype, shape, "numpy.ndarray", data)}),
            }
        )
        for dtype, shape, data in NO_ARRAYS
    ),
]


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_is_refused(made, nonsense):
    server, site = Server(), made.sites["east"]
    server.post(letter(nonsense))
    server.post(letter(request("whole")))
    assert supernode.answered(site, read(server))[0] == "unknown-analyst"
    assert said(read(server)) == "whole"


@pytest.mark.parametrize(
    "changes",
    [{"ttl": -1.0}, {"ttl": float("nan")}, {"created_at": -1e300}, {"kind": "train"}],
)
def test_a_message_that_cannot_be_replied_to_does_not_end_a_site(made, changes):
    server, site = Server(), made.sites["east"]
    server.post(letter(request(), **changes))
    text, reply = supernode.answered(site, read(server))
    assert text == "unknown-analyst" and (reply is None or isinstance(reply, Message))


# --- replies in a site's name


def test_a_refusal_is_signed_for_one_message_one_code_and_one_site(made, talk):
    body, keys = talk.plan.body, made.study.sites
    refused = made.sites["east"].respond(body, "00" * 64, {})
    assert refused.refused is Refusal.ANALYST
    assert refused.is_from("east", keys["east"], talk.plan.digest)
    assert not refused.is_from("north", keys["north"], talk.plan.digest)
    assert not refused.is_from("east", keys["east"], "ab" * 32)
    for change in ({"refused": "other-study"}, {"site": "north"}, {"signature": "00" * 64}):
        changed = Reply(refused.fields | change)
        assert not changed.is_from("east", keys["east"], talk.plan.digest)


def test_a_code_that_is_none_is_no_refusal(made, talk):
    east, digest = made.sites["east"], talk.plan.digest
    assert not east._signed(digest, refused="other").is_from("east", east.identity.public, digest)


class Posing(LocalSites):
    """Sites, and somebody who answers in north's name before north does, at first or always."""

    def __init__(self, made, say, always):
        super().__init__(made.sites.values())
        self.say, self.always, self.times, self.before = say, always, {}, {}

    def exchange(self, message, signature, arrays, sites, accepts):
        replies, body = super().exchange(message, signature, arrays, sites, accepts), message.body
        if "north" in replies:
            times = self.times[body] = self.times.get(body, 0) + 1
            if times == 1 or self.always:
                true, replies["north"] = replies["north"], None
                replies["north"] = self.say(self, true, body)
            self.before[type(message)] = true if times == 1 or self.always else replies["north"]
        return replies


def refusal(site="north", request="", **more):
    return Reply({"site": site, "request": request, "refused": Refusal.BUDGET.value} | more)


def unsigned(posing, true, body):
    return refusal(request=digest_of(body))


def signed_by_itself(posing, true, body):
    fields = posing.sites["south"]._signed(digest_of(body), refused="ledger-exhausted").fields
    return Reply(fields | {"site": "north"})


def of_another_message(posing, true, body):
    return posing.sites["north"]._signed("ab" * 32, refused="ledger-exhausted")


def before(posing, true, body):
    return posing.before.get(Request) or posing.before.get(RunPlan) or refusal()


def without_its_vector(posing, true, body):
    """The site's own reply, whose signature covers the vector's digest, with that in its place."""
    if true.vector is None:
        return refusal()
    digest = hashlib.sha256(true.vector.astype("<u8").tobytes()).hexdigest()
    return Reply(true.fields | {"vector": digest})


POSES = [without_its_vector, unsigned, signed_by_itself, of_another_message, before]


def few():
    return DPGauss(1, epsilon=8.0, delta=1e-6, mean=np.zeros(4), norm_bound=9.0)


@pytest.mark.parametrize("say", POSES)
def test_who_poses_as_a_site_does_not_end_a_fit_that_the_site_answers(made, say):
    fit_sites(few(), **made.call | {"transport": Posing(made, say, always=False)})
    if say is not before:  # who always comes first is not taken for the site
        with pytest.raises(SitesError) as found:
            fit_sites(few(), **made.call | {"transport": Posing(made, say, always=True)})
        assert not found.value.refused and found.value.silent == ("north",)


# --- nodes of the server's that pose as sites


class Link(Server):
    """A server with nodes, each a function from what it was sent to what it replies, or to None."""

    def __init__(self, nodes):
        super().__init__()
        self.nodes, self.replies = dict(enumerate(nodes, start=10)), {}

    def GetNodes(self, request):
        return GetNodesResponse(nodes=[NodeInfo(node_id=number) for number in self.nodes])

    def take(self, message):
        """What `push` would bring here."""
        node, number = message.metadata.dst_node_id, message.object_id
        texts, arrays = unpacked(message.content)
        reply = self.nodes[node](texts["body"].encode(), texts["signature"], arrays)
        if reply is not None:
            head = letter(reply, reply_to=number)
            self.post(head)
            self.replies[number] = self.heads.pop()
        return number

    def PullMessages(self, request):
        (number,) = request.message_ids
        if number in self.replies:
            self.heads.append(self.replies.pop(number))
        return super().PullMessages(request)


@pytest.fixture
def linked(monkeypatch):
    """A transport over such a server."""
    monkeypatch.setattr(flower_module, "POLL", 0.0)
    monkeypatch.setattr(flower_module, "AGAIN", 0.01)

    def linked(nodes, patience=20.0):
        transport = FlowerTransport("127.0.0.1:1", patience=patience)
        transport._client = Link(nodes)
        transport._run, transport._task = 1, 0
        monkeypatch.setattr(
            flower_module, "push", lambda client, node, message, request: client.take(message)
        )
        return transport

    return linked


def sent(reply):
    return packed(reply.fields, {} if reply.vector is None else {"vector": reply.vector})


def genuine(site):
    return lambda *message: sent(site.respond(*message))


def posing(say):
    return lambda body, *more: sent(say(body))


def relaying(site):
    """Pass messages on to a site, so that it seems to be that site; then refuse."""
    honest = genuine(site)

    def node(body, *more):
        plan = isinstance(read_message(body), RunPlan)
        return honest(body, *more) if plan else sent(refusal())

    return node


def replaying(site):
    """Answer every message with what the site has said to the first one."""
    kept = []

    def node(*message):
        if not kept:
            kept.append(genuine(site)(*message))
        return kept[0]

    return node


def impostors(made):
    north = made.sites["north"]
    return [
        posing(lambda body: refusal(request=digest_of(body))),
        posing(lambda body: north._signed("ab" * 32, refused="other-study")),
        posing(lambda body: Reply({"site": "north", "request": digest_of(body)})),
        posing(lambda body: refusal("south", digest_of(body))),
        posing(lambda body: refusal("nobody", digest_of(body))),
        lambda *message: None,
        lambda *message: RecordDict({}),
        posing(lambda body: Reply({"site": "north"}, np.array(["text"]))),
        relaying(north),
        replaying(north),
    ]


def test_nodes_that_pose_as_sites_do_not_keep_a_fit_from_its_sites(made, linked):
    # sites come last; every impostor is there all the time
    nodes = [*impostors(made), *map(genuine, made.sites.values())]
    pca = fit_sites(few(), **made.call | {"transport": linked(nodes)})
    questions = pca.privacy_.details["charged"]["north"]["questions"]
    assert {len(made.receipts(name)) for name in made.sites} == {questions}


def test_a_node_that_poses_as_a_site_which_is_away_is_no_refusal(made, linked, monkeypatch):
    monkeypatch.setattr(flower_module, "BRIEF_PATIENCE", 0.3)
    nodes = [genuine(made.sites[name]) for name in ("east", "south")] + impostors(made)[:8]
    with pytest.raises(SitesError) as found:
        fit_sites(few(), **made.call | {"transport": linked(nodes)})
    assert found.value.silent == ("north",) and not found.value.refused
    assert not any(made.receipts(name) for name in made.sites)


def test_a_message_that_is_sent_again_by_somebody_else_changes_nothing(made, linked):
    """Whoever has seen messages of a run sends all of them again, during it and after it."""
    seen = []

    def replay():
        for sent in list(seen):
            for site in made.sites.values():
                site.respond(*sent)

    def listening(*sent):
        seen.append(sent)
        replay()

    class Heard(LocalSites):
        def exchange(self, message, *more):
            seen.append((message.body, *more[:2]))
            replies = super().exchange(message, *more)
            replay()
            return replies

    nodes = [listening, *map(genuine, made.sites.values())]
    for transport in (Heard(made.sites.values()), linked(nodes)):
        before = len(made.receipts("north"))
        pca = fit_sites(few(), **made.call | {"transport": transport})
        replay()
        asked = pca.privacy_.details["charged"]["north"]["questions"]
        for site in made.sites.values():
            assert len(site.ledger.receipts) == before + asked
            assert all(site._runs.find(run).over for run in runs_of(site))


# --- sums that nobody can have


@pytest.mark.parametrize("lies", [1, 2])
def test_a_sum_beyond_what_records_can_make_ends_the_run_and_names_nobody(made, monkeypatch, lies):
    share, times = SharedQuery.share, []

    def large(self, total, *more):
        times.append(1)
        beyond = 2.0**20 * 3 * 1.5 * self.sensitivity
        return share(self, total + beyond * (len(times) == lies), *more)

    monkeypatch.setattr(SharedQuery, "share", large)
    with pytest.raises(SitesError, match="the masks hide which") as found:
        fit_sites(few(), **made.call)
    error = found.value
    assert not error.refused and not error.silent
    assert not any(re.search(rf"\b{name}\b", str(error)) for name in made.sites)
    for site in made.sites.values():
        assert site._runs.find(error.run).over and len(site.ledger.receipts) == 1


def test_a_sum_of_as_many_records_as_are_declared_is_believed():
    query = SharedQuery.at(0.1, "count", 1.0, n_sites=3, honest=2, max_rows=1000)
    most = 3 * 1000 / query.grid + 60 * 3**0.5 * query.site_sd
    for sign in (1, -1):
        assert query.is_plausible(np.array([0, int(sign * most)]), 1000)
        assert not query.is_plausible(np.array([0, int(sign * 1.5 * most)]), 1000)
    assert not query.is_plausible(np.array([-(2**63)]), 1000)


def test_a_site_that_masks_for_another_question_is_noticed(made, monkeypatch):
    """Garbage is uniform in 64 bits, far beyond any sum: missed with a probability below 1e-4."""
    masked, times = site_module.masked, []

    def other(vector, pads):
        times.append(1)
        if len(times) == 1:
            pads = [pad._replace(key=bytes(32)) for pad in pads]
        return masked(vector, pads)

    monkeypatch.setattr(site_module, "masked", other)
    with pytest.raises(SitesError, match="the masks hide which"):
        fit_sites(few(), **made.call)
