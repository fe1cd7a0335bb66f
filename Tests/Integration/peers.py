"""Servers and proxies that others wrote, on loopback, each with files and a port of its own."""
import os
import signal
import socket
import ssl
import subprocess
import warnings

from harness import ROOT, Collector, request, until

CERTIFICATES = os.path.join(ROOT, "Tests", "HTTPTransportTests", "Fixtures")
# What `.ci/packages test` takes from PyPI.
PYPI = os.path.join(ROOT, ".run", "pypi")
FAST = "FlushSpread=0\nRetryMin=100ms\nRetryMax=500ms\n"
CHECKS = "[Reachability]\nCheckInterval=300ms"
TRUST = f"CACertificate={CERTIFICATES}/authority.pem\n"


def certificate(name):
    """`authority` signed `server` (for collector.test, localhost, 127.0.0.1) and `expired`; `stranger` signed none."""
    return os.path.join(CERTIFICATES, name)


def make_identity(home, name):
    """A certificate that vouches for itself and its key, each in a file."""
    paths = [os.path.join(home, name + end) for end in (".pem", ".key")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Peer:
    """A program in the foreground that listens on `port`, ended by `stop`."""

    def __init__(self, home, name):
        self.home = os.path.join(home, name)
        os.makedirs(self.home, exist_ok=True)
        self.port = free_port()
        self.process = None

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def launch(self, *command):
        with open(self.path("output"), "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        until(self.is_listening, 10, lambda: f"{command[0]} listens\n{self.output()}")
        return self

    def is_listening(self):
        assert self.process.poll() is None, self.output()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def output(self):
        with open(self.path("output"), errors="replace") as file:
            return file.read()[-4000:]

    def stop(self):
        if self.process and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGTERM)
            self.process.wait(10)


class Nginx(Peer):
    """nginx with one server, at 127.0.0.1 and 127.0.0.2; `tls` names the fixture that it shows."""

    def __init__(self, home, server, http="", tls=None, name="nginx"):
        super().__init__(home, name)
        self.server, self.http, self.tls = server, http, tls

    def start(self):
        words, tls = "", ""
        if self.tls:
            words = "ssl http2"
            tls = f"ssl_certificate {certificate(self.tls)}.pem; ssl_certificate_key {certificate(self.tls)}.key;"
        folders = "".join(f"{kind}_temp_path {self.home}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi",
                                                                         "scgi"))
        listen = "".join(f"listen 127.0.0.{last}:{self.port} {words}; " for last in (1, 2))
        self.write("nginx.conf", f"""
            daemon off; master_process off; pid {self.path("pid")}; error_log stderr; events {{}}
            http {{ access_log off; {folders} {self.http} server {{ {listen} {tls} {self.server} }} }}""")
        return self.launch("nginx", "-e", "stderr", "-p", self.home, "-c", self.path("nginx.conf"))


class Tinyproxy(Peer):
    """tinyproxy, which alone knows collector.test: the others would ask a name server in vain."""

    def __init__(self, home, user=None, password=None):
        super().__init__(home, "tinyproxy")
        self.user, self.password = user, password

    def start(self):
        who = f"BasicAuth {self.user} {self.password}\n" if self.user else ""
        self.write("conf", f"Port {self.port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nLogLevel Info\n{who}")
        self.write("hosts", "127.0.0.1 localhost collector.test\n")
        return self.launch(
            "unshare", "-m", "sh", "-c",
            f"mount --bind {self.path('hosts')} /etc/hosts && exec tinyproxy -d -c {self.path('conf')}")

    def tunnels(self):
        """How often it was asked for one to collector.test."""
        with open(self.path("output"), errors="replace") as file:
            return file.read().count("CONNECT collector.test")


class Bodies(Collector):
    """A collector that keeps the bodies of its requests as they came, with their types."""

    def __init__(self, *words, **options):
        self.bodies = []
        super().__init__(*words, **options)

    def parse(self, content_type, body):
        if body:
            self.bodies.append((content_type, body))
        return super().parse(content_type, body)


def tls_server(*protocols, oldest=False, name="server"):
    """What a server of Python's needs; `oldest`, it speaks no version that is still in use."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(f"{name}.pem"), certificate(f"{name}.key"))
    if protocols:
        context.set_alpn_protocols(list(protocols))
    if oldest:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


class Secure(Collector):
    """A collector behind TLS."""

    def start(self):
        super().start()
        self.server.socket = tls_server().wrap_socket(self.server.socket, server_side=True)


def to(port):
    """A server's block that hands everything to a collector, with what nginx knows of the connection."""
    return f"""location / {{ proxy_pass http://127.0.0.1:{port}; proxy_set_header X-Protocol $server_protocol;
        proxy_set_header X-Connection $connection; proxy_set_header X-Client "$ssl_client_s_dn"; proxy_http_version 1.1; }}"""


def anonymous_kib(daemon):
    with open(f"/proc/{daemon.pid()}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))


def delivered(daemon, collector, numbers):
    until(lambda: daemon.assert_ledger()["delivered"] == len(numbers), 20,
          lambda: f"all is delivered\n{daemon.destination()}\n{daemon.read_log()}")
    assert collector.numbers() == list(numbers)


def unreachable(daemon, reason):
    def is_so():
        seen = daemon.destination()
        return seen["state"] == "unreachable" and seen["reason"] == reason

    until(is_so, 10, lambda: f"unreachable, {reason}: {daemon.destination()}")
    return daemon.destination()


def reconfigure(daemon, options, url=None):
    if url:
        daemon.destinations["main"] = url
    daemon.write_configuration(options, CHECKS)
    code, _, body = request(daemon.control, "POST", "/v1/reload")
    assert code == 200, body
