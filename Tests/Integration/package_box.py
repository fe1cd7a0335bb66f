"""A bare Debian, booted, without Swift and without anything that the package does not name; and packages to put in.

The root is made once for each release by mmdebstrap, which needs a mirror, and kept in .run.
"""
import os
import re
import shutil
import subprocess

from box import UNITS, Box, make
from harness import ROOT, run

SUITE = os.environ.get("UPLINKD_BARE_SUITE", "bookworm")


def bare_root():
    """The folder of a minimal Debian with systemd and the libraries that the package depends on."""
    folder = os.path.join(ROOT, ".run", f"debian-{SUITE}")
    if not os.path.exists(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        shutil.rmtree(folder + ".part", ignore_errors=True)
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", "--include=systemd,systemd-sysv,libcurl4,netcat-openbsd",
             "--dpkgopt=force-unsafe-io", SUITE, folder + ".part"], check=True, timeout=900)
        os.rename(folder + ".part", folder)
    return folder


def build_package():
    """The path of the package that `make deb` makes of the programs under test; lintian finds nothing in it."""
    return os.environ.get("UPLINKD_PACKAGE") or make("-s", "deb", "COMPRESSION=1").splitlines()[-1]


def repacked(package, version, folder):
    """The same package as another version, with units and documents that differ in a line."""
    tree = os.path.join(folder, f"tree-{version}")
    run("dpkg-deb", "-R", package, tree)
    control = os.path.join(tree, "DEBIAN/control")
    text = re.sub("^Version: .*", f"Version: {version}", open(control).read(), flags=re.M)
    open(control, "w").write(text)
    for unit in UNITS:
        with open(os.path.join(tree, "lib/systemd/system", unit), "a") as file:
            file.write(f"# {version}\n")
    made = os.path.join(folder, f"uplinkd_{version}.deb")
    run("dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, made)
    shutil.rmtree(tree)
    return made


class PackageBox(Box):
    """The bare system; the package is put in and taken out by dpkg."""

    def __init__(self):
        self.tree = None
        self.boot("--root", bare_root())

    def reset(self):
        """As it was before the first installation, the user and the groups excepted."""
        self.link("carrier-on")
        self.sh("dpkg --purge uplinkd; rm -rf /var/lib/uplinkd /var/lib/private/uplinkd /etc/uplinkd "
                "/etc/systemd/system/uplinkd.service.d; systemctl daemon-reload; systemctl reset-failed")
        self.forget_journal()

    def install(self, package):
        """`dpkg -i`, which asks nothing and starts what is to be started; what it said."""
        shutil.copy(package, self.path("/var/tmp/uplinkd.deb"))
        return self.exec("dpkg", "-i", "/var/tmp/uplinkd.deb", timeout=120).stdout

    def version(self):
        return self.sh("dpkg-query -W -f '${Version} ${db:Status-Status}' uplinkd").stdout
