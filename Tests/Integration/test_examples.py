"""The programs of Documentation/clients.md, taken out of it and run: two events each, and an error where none is taken."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading

import pytest

from harness import ROOT, until
from intake_box import make_box  # noqa: F401

# By the name of the block: the file that it becomes, how it is made a program, how that is run.
PROGRAMS = {
    "sh": ("post.sh", None, ["sh", "post.sh"]),
    "python": ("post.py", None, ["/usr/bin/python3", "post.py"]),
    "js": ("post.js", None, ["node", "post.js"]),
    "go": ("post.go", ["go", "build", "-o", "post", "post.go"], ["./post"]),
    "rust": ("post.rs", ["rustc", "-o", "post", "post.rs"], ["./post"]),
    "java": ("Post.java", ["javac", "Post.java"], ["java", "-cp", ".", "Post"]),
    "c": ("post.c", ["gcc", "-Wall", "-Werror", "-o", "post", "post.c"], ["./post"]),
}
# Those whose runtimes `.ci/packages test` installs; the others run where they are found.
ALWAYS = ["c", "js", "python", "sh"]


def examples():
    with open(os.path.join(ROOT, "Documentation", "clients.md")) as file:
        return dict(re.findall(r"^```(\w+)\n(.*?)^```$", file.read(), re.M | re.S))


def is_there(name):
    _, make, run = PROGRAMS[name]
    return all(shutil.which(words[0]) or words[0] == "./post" for words in (make, run) if words)


@contextlib.contextmanager
def served(path, serve):
    """Gives each client that connects to `serve`, one after the other."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(8)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                link, _ = server.accept()
                with link:
                    serve(link)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield
    server.shutdown(socket.SHUT_RDWR)
    thread.join(10)
    server.close()
    os.unlink(path)


def is_full(link):
    """Answers as a daemon whose queue is full does."""
    if link.recv(65536)[:1] == b"P":
        link.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
    else:
        link.sendall(b'{"error":{"line":1,"status":503,"detail":"the queue is full","retry_after":30}}\n')


def test_each_language_has_an_example():
    assert sorted(examples()) == sorted(PROGRAMS)
    missing = [name for name in ALWAYS if not is_there(name)]
    assert not missing, f"these must run: {missing}"


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name in ALWAYS or is_there(name)])
def test_an_example(make_box, home, name):
    file, make, run = PROGRAMS[name]
    folder = os.path.join(home, "example")
    os.mkdir(folder)
    with open(os.path.join(folder, file), "w") as target:
        target.write(examples()[name])
    if make:
        out = subprocess.run(make, cwd=folder, capture_output=True, text=True, timeout=120)
        assert out.returncode == 0, out.stdout + out.stderr

    def post(box):
        return subprocess.run([*run, box.daemon.events], cwd=folder, capture_output=True, text=True, timeout=60)

    box = make_box()
    out = post(box)
    assert out.returncode == 0, out.stdout + out.stderr
    box.acknowledged += 2
    until(lambda: len(box.collector.taken) == 2, 20, "both arrive")
    assert [(each["event"], each["number"]) for each in box.collector.taken] == [("boot", 1), ("boot", 2)]
    box.check()
    box.daemon.stop()
    if os.path.exists(box.daemon.events):
        os.unlink(box.daemon.events)
    out = post(box)
    assert out.returncode != 0 and out.stderr, "that no daemon is there is an error"
    with served(box.daemon.events, is_full):
        out = post(box)
    assert out.returncode != 0 and out.stderr, "that the queue is full is an error"


def test_a_repeat_has_the_key_of_its_first_try_and_no_other_request_has(home):
    """Every other request is cut off without an answer, as by a kill between the commit and its answer."""
    seen = []

    def serve(link):
        head = link.recv(65536).decode()
        seen.append((re.search(r"^Idempotency-Key: (\S+)\r$", head, re.M).group(1), head.splitlines()[-1]))
        if len(seen) % 2 == 0:
            link.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    path = os.path.join(home, "events.sock")
    with served(path, serve):
        # Twice in one shell: with one process id, as two boots may have.
        subprocess.run(["sh", "-c", f'set -- "$0"; {examples()["sh"] * 2}', path], check=True, timeout=60)
    assert [event for _, event in seen] == [f'{{"event":"boot","number":{each}}}' for each in (1, 1, 2, 2)] * 2
    keys = [key for key, _ in seen]
    assert keys[::2] == keys[1::2], "both tries of a request have one key"
    assert len(set(keys)) == 4, "no two requests have the same"
