"""What somebody without any key of the study can do: nothing but be ignored."""

import dataclasses
import gzip
import hashlib
import re

import numpy as np
import pytest
from msgspec.structs import replace

pytest.importorskip("flwr")

import httpx
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_to_proto
from flwr.proto.fleet_pb2 import PullMessagesRequest, PullMessagesResponse
from flwr.proto.message_pb2 import PullObjectResponse
from flwr.proto.node_pb2 import Node, NodeInfo
from flwr.proto.runtime_pb2 import GetNodesResponse
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    no_object_id_recompute,
)

from skdppca import DPGauss
from skdppca.federated import (
    LocalSites,
    Refusal,
    Refused,
    Reply,
    SitesError,
    fit_sites,
    flower_messages,
    supernode,
)
from skdppca.federated import flower as flower_module
from skdppca.federated.flower import FlowerTransport
from skdppca.federated.messages import digest_of, refusal_text
from skdppca.federated.transport import Expected, respond
from skdppca.statistics import ClippedSum

from .flower_message import letter, question
from .local_sites import Talk, make, parts_of

X = np.random.default_rng(0).normal(size=(60, 4))
SUM = ClippedSum(np.zeros(4), 3.0)


@pytest.fixture
def made(tmp_path):
    return make(tmp_path, parts_of(X, 3))


@pytest.fixture
def talk(made):
    talk = Talk(made)
    talk.hello()
    return talk


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


@pytest.fixture
def clock(monkeypatch):
    """The time, which a test sets."""
    seconds = [100.0]
    monkeypatch.setattr(flower_messages.time, "monotonic", lambda: seconds[0])
    return seconds


def read(server, room=0, seconds=0.05):
    """The next message, as a site reads it."""
    node = Node(node_id=2)
    return flower_messages.received(server, node, PullMessagesRequest(), room, seconds)


def said(message):
    """The text of a message, or what it is refused as."""
    try:
        return flower_messages.unpacked_request(message.content)[0]
    except Refused as refused:
        return refused.code


def request(body=b"{}", arrays=None):
    return flower_messages.packed_request(body, "", "", {} if arrays is None else arrays)


def test_a_head_without_its_body_is_given_up_and_the_next_message_is_read():
    server = Server()
    server.post(letter(request(b"late")), but=["first"])
    server.post(letter(request(b"whole")))
    assert [said(read(server)) for _ in range(2)] == [Refusal.MALFORMED, b"whole"]
    assert len(server.confirmed) == 2 and read(server) is None


LARGE = np.ones((1024, 1024))  # 8 MB


def test_a_message_that_is_larger_than_a_question_can_be_is_not_read():
    server, body = Server(), question(a0=LARGE)
    content = request(body, {"a0": LARGE})
    for room, expected in ((LARGE.nbytes, body), (LARGE.nbytes // 2, Refusal.MALFORMED)):
        server.pulled.clear()
        server.post(letter(content))
        message = read(server, room)
        assert said(message) == expected
        assert bool(server.pulled) is (expected == body)
    assert flower_messages.unpacked_request(content)[-1]["a0"].shape == LARGE.shape


def test_many_empty_parts_are_not_read():
    server, records = Server(), {"first": ConfigRecord({"body": b"", "signature": "", "nonce": ""})}
    for i in range(500):
        records[f"part-{i}"] = ConfigRecord({"bytes": b"", "i": i})
    server.post(letter(RecordDict(records)))
    assert said(read(server, 2**20)) is Refusal.MALFORMED and not server.pulled


@pytest.mark.parametrize("d", [4, 1000])
def test_a_site_reads_what_its_study_can_need(made, d):
    site = made.sites["east"]
    site.policy = replace(site.policy, study=replace(site.policy.study, columns=d))
    arrays = {f"a{i}": np.zeros((d, d)) for i in range(3)} | {"a3": np.zeros(10_000)}
    server = Server()
    server.post(letter(request(question(**arrays), arrays)))
    found = flower_messages.unpacked_request(read(server, supernode.room_for(site)).content)[-1]
    assert {name: one.shape for name, one in found.items()} == {
        name: one.shape for name, one in arrays.items()
    }


NONSENSE = {
    "no records": RecordDict({}),
    "another record": RecordDict({"other": ConfigRecord({"body": b"{}"})}),
    "no bytes": RecordDict({"first": ConfigRecord({"body": [1, 2], "signature": "", "nonce": ""})}),
    "no texts": RecordDict({"first": ConfigRecord({"body": b"{}", "signature": 7})}),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_is_refused(made, case):
    server, site = Server(), made.sites["east"]
    server.post(letter(NONSENSE[case]))
    server.post(letter(request(b"whole")))
    assert supernode._reply(site, read(server))[0] == "refused a question (malformed)"
    assert said(read(server)) == b"whole"


def test_a_tree_that_is_none_is_refused():
    server = Server()
    server.post(letter(request(b"bad")))
    _, tree = server.heads[0]
    del tree.children[:]
    server.post(letter(request(b"whole")))
    assert [said(read(server)) for _ in range(2)] == [Refusal.MALFORMED, b"whole"]


@pytest.mark.parametrize(
    "changes",
    [{"ttl": -1.0}, {"ttl": float("nan")}, {"created_at": -1e300}, {"kind": "query.other"}],
)
def test_a_message_that_cannot_be_replied_to_does_not_end_a_site(made, changes):
    server, site = Server(), made.sites["east"]
    server.post(letter(request(), **changes))
    text, reply = supernode._reply(site, read(server))
    assert text.startswith("refused") and (reply is None or isinstance(reply, Message))


# --- responses that are too large


class Endless(httpx.SyncByteStream):
    def __init__(self):
        self.sent = 0

    def __iter__(self):
        while self.sent < 2**28:
            self.sent += 2**16
            yield bytes(2**16)


def client_of(respond):
    class Client:
        _client = httpx.Client(transport=httpx.MockTransport(respond))

    flower_messages.bounded(Client, flower_messages.ROOM)
    return Client._client


def test_a_response_is_read_as_far_as_a_message_can_be_long():
    stream = Endless()
    http = client_of(lambda request: httpx.Response(200, stream=stream))
    with pytest.raises(flower_messages.TooLarge):
        http.post("https://study.example.org/")
    assert stream.sent <= flower_messages.ROOM + flower_messages.HEAD + 2**16


def test_a_response_is_not_unpacked():
    class Packed(httpx.SyncByteStream):
        def __iter__(self):
            yield packed

    packed, headers = gzip.compress(bytes(2**24)), {"content-encoding": "gzip"}
    http = client_of(lambda request: httpx.Response(200, headers=headers, stream=Packed()))
    assert http.post("https://study.example.org/").content == packed


def test_a_response_that_drips_is_given_up(clock):
    class Slow(httpx.SyncByteStream):
        def __iter__(self):
            while True:
                clock[0] += 5.0
                yield b"x"

    http = client_of(lambda request: httpx.Response(200, stream=Slow()))
    with pytest.raises(httpx.ReadTimeout):
        http.post("https://study.example.org/")
    assert clock[0] < 100.0 + flower_messages.MOST_RESPONSE + 10.0


# --- refusals in a site's name


def test_a_refusal_is_signed_for_one_message_one_time_one_code_and_one_site(made, talk):
    body, sent = talk.plan.body, "aa" * 32
    refused = made.sites["east"].refusal(Refusal.BUDGET, sent, "ab" * 16)
    expected = Expected(digest_of(body), sent, made.study.sites, nonce="ab" * 16)
    assert expected.is_from("east", refused)
    assert not expected.is_from("north", refused) and not expected.is_from("nobody", refused)
    for other in (
        dataclasses.replace(expected, sent="bb" * 32),
        dataclasses.replace(expected, nonce="cd" * 16),
        Expected(digest_of(body), sent, made.study.sites),
    ):
        assert not other.is_from("east", refused)
    for changed in (
        Refused(Refusal.STUDY, refused.signature),
        Refused(Refusal.BUDGET),
        Refused(Refusal.BUDGET, "00" * 64),
        made.sites["north"].refusal(Refusal.BUDGET, sent, "ab" * 16),
    ):
        assert not expected.is_from("east", changed)


@pytest.mark.parametrize("nonce", ["", "x", "AB" * 16, "ab" * 17, "ab" * 10**6])
def test_a_site_signs_no_text_of_somebody_elses_choice(made, nonce):
    east = made.sites["east"]
    refused = east.refusal(Refusal.ANALYST, "", nonce)
    text = refusal_text("east", "", "", Refusal.ANALYST.value)
    assert refused.signature == east.identity.sign(text)


class Posing(LocalSites):
    """Sites, and somebody who answers in north's name before north does, at first or always."""

    def __init__(self, made, say, always):
        super().__init__(made.sites.values())
        self.say, self.always, self.times, self.before = say, always, {}, {}

    def exchange(self, action, body, signature, arrays, sites, expected):
        replies = super().exchange(action, body, signature, arrays, sites, expected)
        self.sent, self.nonce = expected.sent, expected.nonce
        self.message = action, body, signature, arrays
        if "north" in replies:
            times = self.times[body] = self.times.get(body, 0) + 1
            if times == 1 or self.always:
                true, replies["north"] = replies["north"], None
                replies["north"] = self.say(self, true, body)
            self.before[action] = true if times == 1 or self.always else replies["north"]
        return replies


def unsigned(posing, true, body):
    return Refused(Refusal.BUDGET)


def signed_by_itself(posing, true, body):
    text = refusal_text("north", posing.sent, posing.nonce, Refusal.BUDGET.value)
    return Refused(Refusal.BUDGET, posing.sites["south"].identity.sign(text))


def of_another_message(posing, true, body):
    return posing.sites["north"].refusal(Refusal.ROUND, "ab" * 32, posing.nonce)


def of_another_time(posing, true, body):
    return posing.sites["north"].refusal(Refusal.STUDY, posing.sent, "ab" * 16)


def without_nonce(posing, true, body):
    return posing.sites["north"].refusal(Refusal.INTERNAL, posing.sent, "")


def before(posing, true, body):
    return posing.before.get("answer") or posing.before.get("hello") or Refused(Refusal.RUN)


def passed_on_as_something_else(posing, true, body):
    """What the site says to the true body, once it was sent with something else beside it."""
    north, (action, _, signature, arrays) = posing.sites["north"], posing.message
    other = "close" if action != "close" else "hello"
    return respond(north, other, body, signature, arrays, posing.nonce)


def passed_on_with_another_signature(posing, true, body):
    north, (action, _, _, arrays) = posing.sites["north"], posing.message
    return respond(north, action, body, "00" * 64, arrays, posing.nonce)


def passed_on_with_other_arrays(posing, true, body):
    north, (action, _, signature, _) = posing.sites["north"], posing.message
    if action != "answer":
        return Refused(Refusal.INPUTS)
    return respond(north, action, body, signature, {"a0": np.zeros(7)}, posing.nonce)


def without_its_vector(posing, true, body):
    """The site's own reply, whose signature covers the vector's digest, with that in its place."""
    if not isinstance(true, Reply) or true.vector is None:
        return Refused(Refusal.BUDGET)
    digest = hashlib.sha256(true.vector.astype("<u8").tobytes()).hexdigest()
    return Reply(true.fields | {"vector": digest})


PASSED_ON = [
    passed_on_as_something_else,
    passed_on_with_another_signature,
    passed_on_with_other_arrays,
]
POSES = [
    *PASSED_ON,
    without_its_vector,
    unsigned,
    signed_by_itself,
    of_another_message,
    of_another_time,
    without_nonce,
    before,
]


def few():
    return DPGauss(1, epsilon=8.0, delta=1e-6, mean=np.zeros(4), norm_bound=9.0)


@pytest.mark.parametrize("say", POSES)
def test_who_poses_as_a_site_does_not_end_a_fit_that_the_site_answers(made, say):
    fit_sites(few(), **made.call | {"transport": Posing(made, say, always=False)})


@pytest.mark.parametrize("say", POSES[:-1])
def test_who_always_comes_first_is_not_taken_for_the_site(made, say):
    with pytest.raises(SitesError) as found:
        fit_sites(few(), **made.call | {"transport": Posing(made, say, always=True)})
    error = found.value
    assert not error.refused and not error.false
    assert error.silent == error.forged == ("north",)
    assert "says nothing of that site" in str(error)


# --- nodes of the server's that pose as sites


class Link(Server):
    """A server with nodes, each a function from what it was sent to what it replies, or to None.

    Parameters
    ----------
    nodes : list of callable
    """

    def __init__(self, nodes):
        super().__init__()
        self.nodes, self.replies, self.sent = dict(enumerate(nodes, start=10)), {}, []

    def GetNodes(self, request):
        return GetNodesResponse(nodes=[NodeInfo(node_id=number) for number in self.nodes])

    def take(self, message):
        """What `push` would bring here."""
        action = message.metadata.message_type.removeprefix("query.")
        node = message.metadata.dst_node_id
        self.sent.append((node, action))
        number = message.object_id
        reply = self.nodes[node](action, *flower_messages.unpacked_request(message.content))
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
        transport._node, transport._run, transport._task = Node(node_id=1), 1, 0
        monkeypatch.setattr(
            flower_module, "push", lambda client, node, message, request: client.take(message)
        )
        return transport

    return linked


def genuine(site):
    def node(action, body, signature, nonce, arrays):
        return flower_messages.packed_reply(
            site.name, respond(site, action, body, signature, arrays, nonce)
        )

    return node


def posing(say, name="north"):
    return lambda action, body, *more: flower_messages.packed_reply(name, say(body))


def relaying(site):
    """Pass messages on to a site, so that it seems to be that site; then refuse."""
    honest = genuine(site)

    def node(action, *message):
        return (
            honest(action, *message)
            if action == "hello"
            else flower_messages.packed_reply(site.name, Refused(Refusal.BUDGET, "00" * 64))
        )

    return node


def replaying(site):
    """Answer every message with what the site has said to the first one."""
    kept = []

    def node(action, body, signature, nonce, arrays):
        if not kept:
            kept.append(genuine(site)("answer", body, signature, nonce, arrays))
        return kept[0]

    return node


def huge(action, *message):
    return flower_messages._packed({"site": "north", "reply-signature": "00"}, bytes(2**22))


def impostors(made):
    north = made.sites["north"]
    return [
        posing(lambda body: Refused(Refusal.BUDGET)),
        posing(lambda body: Refused(Refusal.BUSY)),
        posing(lambda body: north.refusal(Refusal.STUDY, digest_of(body), "ab" * 16)),
        posing(lambda body: Reply({"site": "north", "request": digest_of(body)})),
        posing(lambda body: Refused(Refusal.BUDGET), "south"),
        posing(lambda body: Refused(Refusal.BUDGET), "nobody"),
        lambda *message: None,
        lambda *message: RecordDict({}),
        huge,
        relaying(north),
        replaying(north),
    ]


def test_nodes_that_pose_as_sites_do_not_keep_a_fit_from_its_sites(made, linked):
    # sites come last; every impostor is there all the time
    nodes = [*impostors(made), *map(genuine, made.sites.values())]
    pca = fit_sites(few(), **made.call | {"transport": linked(nodes)})
    questions = pca.privacy_.details["charged"]["north"]["questions"]
    assert {len(made.receipts(name)) for name in made.sites} == {questions}


def test_many_nodes_that_pose_as_sites_do_not_keep_a_fit_from_its_sites(made, linked):
    nodes = [posing(lambda body: Refused(Refusal.BUDGET))] * 100
    nodes += map(genuine, made.sites.values())
    assert fit_sites(few(), **made.call | {"transport": linked(nodes)}).components_.shape == (1, 4)


def test_a_node_that_poses_as_a_site_which_is_away_is_no_refusal(made, linked, monkeypatch):
    monkeypatch.setattr(flower_module, "BRIEF_PATIENCE", 0.3)
    nodes = [genuine(made.sites[name]) for name in ("east", "south")] + impostors(made)[:8]
    with pytest.raises(SitesError) as found:
        fit_sites(few(), **made.call | {"transport": linked(nodes)})
    assert found.value.silent == ("north",) and not found.value.refused
    assert not any(made.receipts(name) for name in made.sites)


def test_a_transport_needs_to_know_what_it_waits_for(linked):
    with pytest.raises(TypeError, match="expected is missing"):
        linked([]).exchange("hello", b"{}", "", {}, ["north"])


def test_a_message_that_is_sent_again_by_somebody_else_changes_nothing(made, linked):
    """Whoever has seen messages of a run sends all of them again, during it and after it."""
    seen, again = [], LocalSites(made.sites.values())

    def replay():
        for action, body, signature, arrays in list(seen):
            again.exchange(action, body, signature, arrays, list(made.sites))

    def listening(action, body, signature, nonce, arrays):
        seen.append((action, body, signature, arrays))
        replay()

    class Heard(LocalSites):
        def exchange(self, action, body, signature, arrays, *more):
            seen.append((action, body, signature, arrays))
            replies = super().exchange(action, body, signature, arrays, *more)
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
            assert all(site._runs.find(run).over for run in site._runs.ids())


# --- sums that nobody can have


@pytest.mark.parametrize("lies", [1, 2])
def test_a_sum_beyond_what_records_can_make_ends_the_run_and_names_nobody(made, monkeypatch, lies):
    from skdppca.noise import SharedQuery

    share, times = SharedQuery.share, []

    def large(self, total, *more):
        times.append(1)
        beyond = 2.0**20 * 3 * 1.5 * self.sensitivity
        return share(self, total + beyond * (len(times) == lies), *more)

    monkeypatch.setattr(SharedQuery, "share", large)
    with pytest.raises(SitesError, match="the masks hide which") as found:
        fit_sites(few(), **made.call)
    error = found.value
    assert not error.refused and not error.silent and not error.false
    assert not any(re.search(rf"\b{name}\b", str(error)) for name in made.sites)
    for site in made.sites.values():
        assert site._runs.find(error.run).over and len(site.ledger.receipts) == 1


def test_a_sum_of_as_many_records_as_are_declared_is_believed():
    from skdppca.noise import SharedQuery

    query = SharedQuery.at(0.1, "count", 1.0, n_sites=3, honest=2, max_rows=1000)
    most = 3 * 1000 / query.grid + 60 * 3**0.5 * query.site_sd
    for sign in (1, -1):
        assert query.is_plausible(np.array([0, int(sign * most)]), 1000)
        assert not query.is_plausible(np.array([0, int(sign * 1.5 * most)]), 1000)
    assert not query.is_plausible(np.array([-(2**63)]), 1000)


def test_a_site_that_masks_for_another_question_is_noticed(made, monkeypatch):
    """Garbage is uniform in 64 bits, far beyond any sum: missed with a probability below 1e-4."""
    from skdppca.federated import site as site_module

    masked, times = site_module.masked, []

    def other(vector, pads):
        times.append(1)
        if len(times) == 1:
            pads = [pad._replace(key=bytes(32)) for pad in pads]
        return masked(vector, pads)

    monkeypatch.setattr(site_module, "masked", other)
    with pytest.raises(SitesError, match="the masks hide which"):
        fit_sites(few(), **made.call)
