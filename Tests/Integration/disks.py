"""File systems of a test's own, on images in memory: small, full, frozen, failing, slow, cut off from power."""
import contextlib
import json
import os
import socket
import subprocess

from harness import until

MKFS = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    # Without it mkfs.xfs makes nothing below 300 MB; with it 16 MiB is the least.
    "xfs": ["mkfs.xfs", "-q", "-f", "--unsupported"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "--mixed"],
}


def run(*command):
    """Runs a command that must succeed; what it printed."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def unmount(path):
    """Unmounts it once nothing holds it any more; another mount namespace with a copy of all mounts holds it, too."""
    def what():
        ours, holders = os.stat("/proc/self/ns/mnt").st_ino, []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                mounts = open(f"/proc/{pid}/mountinfo").read()
                if os.stat(f"/proc/{pid}/ns/mnt").st_ino != ours and os.path.dirname(path) in mounts:
                    holders.append(f"{pid} {open(f'/proc/{pid}/comm').read().strip()}")
        return f"{path} unmounts; other namespaces that have a copy: {holders}"

    until(lambda: subprocess.run(["umount", path], capture_output=True).returncode == 0, 60, what)


class Disk:
    """A file system on an image in memory, or a tmpfs; `mount` is where it is mounted, `queue` a folder in it."""

    def __init__(self, home, kind="ext4", mebibytes=16, make=(), options=""):
        self.kind, self.options = kind, options
        self.memory, self.mount = os.path.join(home, "memory"), os.path.join(home, "mount")
        self.queue = os.path.join(self.mount, "queue")
        self.filler = os.path.join(self.mount, "filler")
        self.is_frozen = False
        os.mkdir(self.memory)
        os.mkdir(self.mount)
        run("mount", "-t", "tmpfs", "-o", "mode=700", "none", self.memory)
        self.image, self.device = os.path.join(self.memory, "image"), None
        if kind == "tmpfs":
            self.options = f"size={mebibytes}M,mode=700" + ("," + options if options else "")
        else:
            run("truncate", "-s", f"{mebibytes}M", self.image)
            self.attach()
            run(*MKFS[kind], *make, self.device)
        self.attach_file_system()
        os.mkdir(self.queue, mode=0o700)
        run("sync", "-f", self.mount)

    def attach(self):
        """Puts a block device over the image."""
        self.device = run("losetup", "-f", "--show", self.image)

    def detach(self):
        if self.device:
            run("losetup", "-d", self.device)
        self.device = None

    def attach_file_system(self):
        """Mounts it."""
        options = ["-o", self.options] if self.options else []
        if self.kind == "tmpfs":
            run("mount", "-t", "tmpfs", *options, "none", self.mount)
        else:
            run("mount", *options, self.device, self.mount)

    def detach_file_system(self):
        unmount(self.mount)

    def remount(self):
        """Unmounts and mounts it, which replays what its journal has."""
        self.detach_file_system()
        self.attach_file_system()

    def shut_down(self):
        """Cuts it off as a power cut would: what is not on the device is gone, and every call fails."""
        run("xfs_io", "-x", "-c", "shutdown", self.mount)

    def is_alive(self):
        """False once the file system has given up, so that only a new mount cures it."""
        path = os.path.join(self.mount, "alive")
        try:
            with open(path, "w") as file:
                file.write("yes")
                os.fsync(file.fileno())
            os.unlink(path)
            return True
        except OSError:
            return False

    def free(self):
        """Bytes that anyone may still use."""
        space = os.statvfs(self.mount)
        return space.f_bavail * space.f_frsize

    def fill(self):
        """Leaves no byte free, by a file of somebody else; returns how many that took."""
        taken = 0
        with open(self.filler, "ab", buffering=0) as file:
            for size in (1 << 16, 4096, 512):
                with contextlib.suppress(OSError):
                    while True:
                        taken += file.write(b"\1" * size)
            with contextlib.suppress(OSError):
                os.fsync(file.fileno())
        return taken

    def clear(self):
        """Takes the file of somebody else away."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.filler)

    def freeze(self):
        run("fsfreeze", "-f", self.mount)
        self.is_frozen = True

    def thaw(self):
        if self.is_frozen:
            run("fsfreeze", "-u", self.mount)
        self.is_frozen = False

    def close(self):
        self.thaw()
        self.detach_file_system()
        self.detach()
        unmount(self.memory)


class ServedDisk(Disk):
    """A disk whose device is served by qemu-storage-daemon, which can make its reads, writes and flushes fail.

    With `writes` and `bytes` it does no more of them a second. The kernel's loop device lies over its FUSE export.
    """

    def __init__(self, home, kind="ext4", mebibytes=64, writes=0, bytes=0, **more):
        self.limits = f",x-iops-write={writes},x-bps-write={bytes}" if writes else ""
        self.server, self.errors = None, 0
        super().__init__(home, kind, mebibytes, **more)

    def attach(self):
        export, control = os.path.join(self.memory, "export"), os.path.join(self.memory, "control")
        open(export, "w").close()
        top = "driver=throttle,throttle-group=limits,file=" if self.limits else "driver=raw,file="
        limits = ["--object", "throttle-group,id=limits" + self.limits] if self.limits else []
        self.server = subprocess.Popen([
            "qemu-storage-daemon", *limits, "--blockdev", f"driver=file,node-name=good,filename={self.image}",
            "--blockdev", f"node-name=top,{top}good",
            "--export", f"type=fuse,id=export,node-name=top,mountpoint={export},writable=on",
            "--chardev", f"socket,id=control,path={control},server=on,wait=off", "--monitor", "chardev=control",
        ])
        until(lambda: os.stat(export).st_size > 0, 10, "the device is served")
        self.control = socket.socket(socket.AF_UNIX)
        self.control.connect(control)
        self.answers = self.control.makefile("rb")
        self.answers.readline()
        self.ask("qmp_capabilities")
        self.device = run("losetup", "-f", "--show", export)

    def ask(self, command, **arguments):
        """One command of the QEMU Monitor Protocol."""
        self.control.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        answer = self.answer()
        assert "return" in answer, answer

    def answer(self):
        while "event" in (answer := json.loads(self.answers.readline())):
            pass
        return answer

    def fail(self, kind, once=False):
        """From now on each `write`, `flush` or `read` fails with EIO, or only the first."""
        self.errors += 1
        name = f"bad{self.errors}"
        rule = {"event": "none", "iotype": kind, "errno": 5, "once": once}
        below = {"driver": "file", "filename": self.image}
        self.ask("blockdev-add", **{"driver": "blkdebug", "node-name": name, "image": below, "inject-error": [rule]})
        self.ask("blockdev-reopen", options=[{"driver": "raw", "node-name": "top", "file": name}])

    def heal(self):
        """From now on nothing fails; false where the device that does not flush must be replaced for it."""
        self.errors += 1
        name = f"good{self.errors}"
        self.ask("blockdev-add", **{"driver": "file", "node-name": name, "filename": self.image})
        self.control.sendall(json.dumps({"execute": "blockdev-reopen", "arguments": {
            "options": [{"driver": "raw", "node-name": "top", "file": name}]}}).encode())
        return "return" in self.answer()

    def replace(self):
        """Has another server serve the same image."""
        self.detach_file_system()
        self.detach()
        self.attach()
        self.attach_file_system()

    def detach(self):
        super().detach()
        if self.server:
            self.control.close()
            self.server.terminate()
            self.server.wait(10)
        self.server = None
