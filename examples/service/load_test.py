"""Load test of the example service, on this machine only: ``python load_test.py``.

The script starts the service on a free port of the loopback interface, requests explanations over a few connections
that stay open, and prints requests per second and latency percentiles. ``/health`` shows the share of the framework
alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from arborshap import TreeExplainer

HERE = Path(__file__).parent
TREES, DEPTH, FEATURES, BACKGROUND = 100, 6, 20, 1000


def train(directory: Path) -> dict[str, str]:
    """Save an explainer, and return the service's environment."""
    from xgboost import XGBRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, FEATURES))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.1 * rng.normal(size=len(X))
    model = XGBRegressor(n_estimators=TREES, max_depth=DEPTH).fit(X, y)
    TreeExplainer(model, X[:BACKGROUND]).save(directory / "model.explainer")
    return {"EXPLAINER": str(directory / "model.explainer")}


def request(path: str, body: bytes = b"") -> bytes:
    """Write an HTTP request that keeps its connection open."""
    method = "POST" if body else "GET"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def explaining(n_rows: int) -> bytes:
    """Write a request to explain this many rows."""
    rows = np.random.default_rng(1).normal(size=(n_rows, FEATURES)).round(6)
    return request("/explain", json.dumps({"rows": rows.tolist()}).encode())


async def asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: bytes) -> bytes:
    """Send a request and return the body of its answer, which must be a good one."""
    writer.write(message)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
    body = await reader.readexactly(int(length.split(":")[1]))
    if not head.startswith("HTTP/1.1 200"):
        raise RuntimeError(f"{head.splitlines()[0]}: {body.decode()[:200]}")
    return body


async def load(port: int, message: bytes, connections: int, most: int, seconds: float) -> tuple[float, list[float]]:
    """Ask over and over, for `most` answers or `seconds`; return the time it took in all, and for each answer."""
    latencies: list[float] = []
    deadline = time.perf_counter() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while len(latencies) < most and time.perf_counter() < deadline:
            start = time.perf_counter()
            await asked(reader, writer, message)
            latencies.append(time.perf_counter() - start)
        writer.close()
        await writer.wait_closed()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return time.perf_counter() - start, latencies


async def until_ready(port: int, service: subprocess.Popen[bytes]) -> None:
    """Wait for the service to answer."""
    for _ in range(300):
        if service.poll() is not None:
            raise RuntimeError(f"the service ended with status {service.returncode}")
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
            continue
        await asked(reader, writer, request("/health"))
        writer.close()
        return
    raise RuntimeError("the service does not answer")


async def measure(port: int, service: subprocess.Popen[bytes], most: int, seconds: float) -> None:
    """Print a line for each kind of load."""
    await until_ready(port, service)
    print(
        f"{TREES} trees of depth {DEPTH}, {FEATURES} features, {BACKGROUND} background rows; one worker; milliseconds"
    )
    marks = "".join(f"{mark:>8}" for mark in ("median", "95%", "99%", "99.9%"))
    print(f"{'request':<22}{'connections':>12}{'requests':>10}{'a second':>10}{marks}")
    for name, message in [
        ("/health", request("/health")),
        ("/explain, 1 row", explaining(1)),
        ("/explain, 100 rows", explaining(100)),
    ]:
        for connections in (1, 8):
            await load(port, message, connections, 50, seconds)  # the first answers are not the usual ones
            taken, latencies = await load(port, message, connections, most, seconds)
            marks = "".join(f"{1000 * mark:8.2f}" for mark in np.percentile(latencies, [50, 95, 99, 99.9]))
            rate = len(latencies) / taken
            print(f"{name:<22}{connections:>12}{len(latencies):>10,}{rate:>10,.0f}{marks}", flush=True)


def main() -> None:
    """Train, start the service, measure, and stop the service."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--requests", type=int, default=3000, help="the most requests of each kind of load")
    arguments.add_argument("--seconds", type=float, default=5.0, help="the most time for each kind of load")
    wanted = arguments.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as directory:
        environment = os.environ | train(Path(directory))
        command = [sys.executable, "-m", "uvicorn", "--factory", "service:from_environment"]
        command += ["--host", "127.0.0.1", "--port", str(port), "--no-access-log", "--log-level", "warning"]
        service = subprocess.Popen(command, cwd=HERE, env=environment)
        try:
            asyncio.run(measure(port, service, wanted.requests, wanted.seconds))
        finally:
            service.terminate()
            service.wait(10)


if __name__ == "__main__":
    main()
