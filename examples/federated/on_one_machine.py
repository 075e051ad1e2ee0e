"""Do all that README.md says on this machine, in an empty folder.

It takes about two minutes, prints every command, and stops what it has started.
"""

import argparse
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from command import call

HERE = Path(__file__).resolve().parent
HOSPITALS = ["north", "south", "west"]


def environment(folder: Path) -> dict[str, str]:
    """Where commands are found; and nothing but this machine's own address is used."""
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    flower = {
        "FLWR_HOME": str(folder / "server" / "flwr"),
        "FLWR_TELEMETRY_ENABLED": "0",
    }
    private = {"FLWR_DISABLE_UPDATE_CHECK": "1", "NO_PROXY": "127.0.0.1"}
    return {**os.environ, "PATH": commands, **flower, **private}


def done(folder: Path, command: str) -> str:
    """Run a command to its end, and return all that it printed."""
    print(f"$ {command}", flush=True)
    ended = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(ended.stdout, flush=True)
    if ended.returncode:
        sys.exit(f"it failed: {command}")
    return ended.stdout


@contextmanager
def running(folder: Path, command: str, log: str) -> Iterator[subprocess.Popen]:
    """Run a command in the background, and stop it in the end, if it has not ended."""
    print(f"$ {command}  # in a terminal of its own", flush=True)
    with open(folder / log, "ab") as file:
        process = subprocess.Popen(
            shlex.split(command),
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody uses just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port: int, server: subprocess.Popen) -> None:
    """Wait until the server answers."""
    while server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    sys.exit("the server did not start; see server.log")


@contextmanager
def superlink(folder: Path) -> Iterator[str]:
    """Run the server, with the certificate in folder/server, and yield its address."""
    port, home = free_port(), folder / "server" / "flwr"
    command = (
        f"flower-superlink --host 127.0.0.1 --port {port} --isolation process "
        "--enable-supernode-auth --disable-runtime-dependency-installation "
        "--ssl-certfile server/server.crt --ssl-keyfile server/server.key "
        "--ssl-ca-certfile server/ca.crt --database server/state.db"
    )
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        f"""
        [superlink]
        default = "study"

        [superlink.study]
        address = "127.0.0.1:{port}"
        root-certificates = "{folder / "server" / "ca.crt"}"
        """
    )
    with running(folder, command, "server.log") as process:
        wait_for(port, process)
        yield f"127.0.0.1:{port}"


def main(folder: Path) -> None:
    """Do as README.md says."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(
            f"{folder} is not empty; choose a folder that is, or a new one"
        )
    python = f"{sys.executable} {HERE}"
    done(folder, f"{python}/make_data.py .")
    done(folder, f"{python}/make_certificates.py server 127.0.0.1")
    (folder / "ca.crt").write_bytes((folder / "server" / "ca.crt").read_bytes())
    with ExitStack() as stack:
        server = stack.enter_context(superlink(folder))
        keys = []
        for name in HOSPITALS:
            said = done(folder, f"skdppca site key {name}/site")
            keys.append(f"{name}={re.search('[0-9a-f]{64}', said)[0]}")
            done(
                folder,
                f"flwr supernode register {name}/site/supernode.pub study --name {name}",
            )
        analyst = done(folder, f"{python}/make_key.py analyst.key").strip()
        done(folder, f"{python}/make_study.py {' '.join(keys)}")
        for name in HOSPITALS:
            ledger = f"{name}/site/study.ledger"
            done(folder, f"skdppca ledger create {ledger} --epsilon 3 --delta 1e-6")
            done(
                folder,
                f"skdppca site init {name}/site --study study.json "
                f"--table {name}/patients.csv --analyst {analyst} --ledger {ledger} "
                "--max-epsilon 1",
            )
            command = f"skdppca site run {name}/site --server {server} --root-certificates ca.crt"
            stack.enter_context(running(folder, command, f"{name}.log"))
        done(folder, f"{python}/fit.py {server}")
        for name in HOSPITALS:
            done(folder, f"skdppca site show {name}/site")
            done(folder, f"skdppca ledger show {name}/site/study.ledger")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="it is made if there is none"
    )
    call(main, parser)
