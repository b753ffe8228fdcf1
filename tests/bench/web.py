"""Runs a web server on the loopback, and a link to it with delay and limited bandwidth."""

import contextlib
import subprocess
import time
import urllib.error
import urllib.request

import mounts
from commands import Missing, need_program

SETTINGS = """
daemon off; master_process off; pid run/pid; error_log run/error.log; user root;
events {{ worker_connections 256; }}
http {{
  client_body_temp_path run; proxy_temp_path run; fastcgi_temp_path run; uwsgi_temp_path run;
  scgi_temp_path run; access_log off; sendfile on; keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port}; root {folder}; autoindex on; }}
}}
"""


def _free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _await_answer(port):
    deadline = time.monotonic() + mounts.MOUNT_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            return
        time.sleep(0.02)
    raise Missing("nginx does not answer")


@contextlib.contextmanager
def nginx(bench, folder):
    """Serves the files of `folder`. Yields the port."""
    root = bench.new_directory("nginx")
    (root / "run").mkdir()
    port = _free_port()
    (root / "nginx.conf").write_text(SETTINGS.format(port=port, folder=folder))
    server = subprocess.Popen([need_program("nginx"), "-p", str(root), "-e", "run/error.log",
                               "-c", str(root / "nginx.conf")])
    try:
        _await_answer(port)
        yield port
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def slow_link(bench, port, milliseconds, bytes_per_second):
    """Yields a port through which the server can be reached with this round-trip delay."""
    words = [str(word) for word in (bench.program("slow_link"), port, milliseconds, bytes_per_second)]
    link = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield int(link.stdout.readline())
    finally:
        link.stdin.close()
        link.wait()
        link.stdout.close()


@contextlib.contextmanager
def rclone(bench, port, *options):
    """Mounts the server's files with rclone, at a mountpoint of its own."""
    point = bench.scratch / "rclone"
    point.mkdir(exist_ok=True)
    command = [need_program("rclone"), "mount", ":http:", str(point), "--http-url",
               f"http://127.0.0.1:{port}/", "--read-only", "--config", "/dev/null",
               "--cache-dir", str(bench.new_directory("rclone-cache")), *options]
    with mounts.served(point, *command) as mount:
        yield mount
