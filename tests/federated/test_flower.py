"""Flower carries runs between real processes: a SuperLink and three sites, with TLS, on loopback.

The slow tests take about four minutes. They stop what they start by its own process id.
"""

import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("flwr")

from filelock import FileLock

from skdppca import DPGauss, PrivacyLedger
from skdppca.federated import Identity, Policy, Site, SitesError, Study, fit_sites, supernode
from skdppca.federated.flower import FlowerTransport, check_server, packed, unpacked
from skdppca.federated.identity import create_node_key
from skdppca.federated.supernode import serve

from ..benchmark_modules import ROOT, load

EXAMPLE = ROOT / "examples" / "federated"
NAMES = ["north", "south", "west"]

# `skdppca site run`, killed as if by kill -9 right after the second time that it did something.
DIES = """
import importlib, os, signal, sys
module, name, method = sys.argv.pop(1).split(":")
kind = getattr(importlib.import_module(module), name)
original, times = getattr(kind, method), []
def dying(*args, **more):
    result = original(*args, **more)
    times.append(1)
    if len(times) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return result
setattr(kind, method, dying)
from skdppca.cli import main
sys.exit(main())
"""
CHARGED = "skdppca.privacy:PrivacyLedger:charge"
ANSWERED = "skdppca.federated.site:Site:_charged"


machine = load("on_one_machine", EXAMPLE)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A SuperLink that knows three keys."""
    folder = tmp_path_factory.mktemp("server")
    load("make_certificates", EXAMPLE).main(folder / "server", "127.0.0.1")
    with machine.superlink(folder) as address:
        for name in NAMES:
            (folder / name).mkdir()
            create_node_key(folder / name)
            machine.done(folder, f"flwr supernode register {name}/supernode.pub study")
        yield SimpleNamespace(address=address, folder=folder, roots=folder / "server" / "ca.crt")


@pytest.fixture
def study(server, tmp_path):
    """Three sites in folders of their own, and the analyst's key."""
    analyst = Identity.create(tmp_path / "analyst.key")
    keys = {name: Site.prepare(tmp_path / name).public for name in NAMES}
    study = Study("test", sites=keys, columns=4, max_rows=2**16)
    X = np.random.default_rng(0).normal(size=(6000, 4)) * [9, 3, 1, 1]
    for i, name in enumerate(NAMES):
        folder = tmp_path / name
        for key in ("supernode.key", "supernode.pub"):
            (folder / key).write_bytes((server.folder / name / key).read_bytes())
        np.save(folder / "table.npy", X[i::3])
        PrivacyLedger.create(folder / "study.ledger", epsilon=4.0, delta=1e-6)
        Policy(
            study,
            (analyst.public,),
            "table.npy",
            max_epsilon=2.0,
            max_delta=1e-6,
        ).write(folder / "site.json")
    return SimpleNamespace(study=study, analyst=analyst, folder=tmp_path)


@contextmanager
def site(server, folder, name, dies=None):
    """Run a site's process, which has connected."""
    command, log = "skdppca", folder / f"{name}.log"
    if dies is not None:
        (folder / "dies.py").write_text(DIES)
        command = f"{sys.executable} dies.py {dies}"
    options = f"--server {server.address} --root-certificates {server.roots}"
    before = log.read_text().count("connected") if log.exists() else 0
    with machine.running(folder, f"{command} site run {name} {options}", log.name) as process:
        while log.read_text().count("connected") == before:
            assert process.poll() is None, log.read_text()
            time.sleep(0.2)
        yield process


def fit(server, study, patience):
    pca = DPGauss(2, epsilon=2.0, delta=1e-6)
    with FlowerTransport(server.address, server.roots, patience=patience) as transport:
        return fit_sites(pca, study=study.study, transport=transport, analyst=study.analyst)


def chains(study):
    """What each site's ledger holds."""
    paths = [study.folder / name / "study.ledger" for name in NAMES]
    return [PrivacyLedger(path).statement().chain for path in paths]


def questions(chain):
    """The numbers of the questions that were charged."""
    return [int(receipt.label.split("/")[1]) for receipt in chain.receipts]


@pytest.mark.slow
def test_a_fit_over_three_sites_is_charged_once_per_question_and_recorded_at_each(server, study):
    with ExitStack() as stack:
        for name in NAMES:
            stack.enter_context(site(server, study.folder, name))
        pca = fit(server, study, patience=120)
    # the gap is far above the noise: less than this has a probability below 1e-9
    assert abs(pca.components_[0, 0]) > 0.98 and abs(pca.components_[1, 1]) > 0.9
    asked = pca.privacy_.details["charged"]["north"]["questions"]
    for chain in chains(study):
        assert questions(chain) == list(range(1, asked + 1))
        assert {row.release for row in chain.releases} == {pca.privacy_.release_id}


@pytest.mark.slow
@pytest.mark.parametrize("moment", [CHARGED, ANSWERED])
def test_a_site_that_is_killed_and_started_again_completes_the_run_with_one_charge_per_question(
    server, study, moment
):
    with ExitStack() as stack, ThreadPoolExecutor(1) as thread:
        for name in ("north", "west"):
            stack.enter_context(site(server, study.folder, name))
        dying = stack.enter_context(site(server, study.folder, "south", dies=moment))
        fitting = thread.submit(fit, server, study, 120)
        assert dying.wait(120) == -signal.SIGKILL
        assert not fitting.done()
        stack.enter_context(site(server, study.folder, "south"))
        pca = fitting.result(240)
    asked = pca.privacy_.details["charged"]["south"]["questions"]
    assert [questions(chain) for chain in chains(study)] == 3 * [list(range(1, asked + 1))]


@pytest.mark.slow
def test_a_run_without_a_site_that_was_killed_fails_clearly_and_charges_stay(server, study):
    with ExitStack() as stack, ThreadPoolExecutor(1) as thread:
        for name in ("north", "west"):
            stack.enter_context(site(server, study.folder, name))
        dying = stack.enter_context(site(server, study.folder, "south", dies=CHARGED))
        fitting = thread.submit(fit, server, study, 15)
        assert dying.wait(120) == -signal.SIGKILL
        with pytest.raises(SitesError, match="south did not answer") as failure:
            fitting.result(240)
    assert failure.value.silent == ("south",) and not failure.value.refused
    for chain in chains(study):
        assert questions(chain) == [1, 2] and not chain.releases


@pytest.mark.slow
def test_the_example_runs_from_an_empty_folder(tmp_path):
    command = [sys.executable, EXAMPLE / "on_one_machine.py", tmp_path / "example"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert "over the sites north, south, west" in ended.stdout


def test_a_server_that_is_not_there_is_an_error_that_names_it():
    start = time.monotonic()
    address = f"127.0.0.1:{machine.free_port()}"
    with pytest.raises(ConnectionError, match=f"server='{address}' cannot be used"):
        FlowerTransport(address).__enter__()
    assert time.monotonic() - start < 60  # it does not wait for a server


def test_certificates_that_are_missing_are_named_and_not_the_server(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no-such\.crt"):
        FlowerTransport("127.0.0.1:1", "no-such.crt").__enter__()


@pytest.mark.parametrize("server", ["", "host", ":80", "host:", "host:x", "https://h:80", "h :1"])
def test_an_address_is_a_host_and_a_port(server):
    for valid in ("study.example.org:8000", "10.0.0.1:80", "[::1]:8000"):
        check_server(valid)
    with pytest.raises(ValueError, match="is no HOST:PORT; give both"):
        FlowerTransport(server)


def test_a_site_is_run_by_one_process(tmp_path):
    create_node_key(tmp_path)
    with FileLock(tmp_path / "supernode.lock"), pytest.raises(ValueError, match="already runs"):
        serve(SimpleNamespace(folder=tmp_path), "127.0.0.1:1", None, print)


def test_a_site_whose_folder_was_put_back_answers_nothing(tmp_path, monkeypatch):
    (folder := tmp_path / "east").mkdir()
    create_node_key(folder)

    def put_back(*_):
        shutil.copytree(folder, tmp_path / "copy")
        shutil.rmtree(folder)
        (tmp_path / "copy").rename(folder)
        return "a message"

    monkeypatch.setattr(supernode, "_connected", lambda *_: nullcontext((None, None)))
    monkeypatch.setattr(supernode, "PullMessagesRequest", lambda **_: None)
    monkeypatch.setattr(supernode, "received", put_back)
    monkeypatch.setattr(supernode, "answered", lambda *_: pytest.fail("it answered"))
    with pytest.raises(ValueError, match="replaced; start the site again"):
        serve(SimpleNamespace(folder=folder), "127.0.0.1:1", None, print)


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"a1": np.eye(3), "a0": np.array([0.1, np.pi]), "a10": np.ones((300, 700))},
        {"vector": np.array([0, 2**64 - 1, 2**53 + 1], dtype=np.uint64)},
    ],
)
def test_what_is_packed_is_unpacked_as_it_was(arrays):
    texts = {"body": '{"name":"\u00e4"}', "signature": "f" * 128}
    found_texts, found = unpacked(packed(texts, arrays))
    assert found_texts == texts and found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)


def test_what_a_message_holds_beside_texts_is_left_out():
    assert unpacked(packed({"site": 3, "mu": [1.0], "key": "a"}, {}))[0] == {"key": "a"}
