"""A block device that keeps a log of every write and flush, and images of it as it stood after any number of them."""
import os
import random
import shutil
import struct
import subprocess

from harness import until

SECTOR = 512
PAGE = 4096
# What begins in the queue's own files; file systems take for granted that a page of theirs is written whole.
OWN = (b"UPLINKQ\n", b"UPLINKS\n", b"UPB1", b"UPT1", b"UPC1")
FLUSH, FUA, DISCARD = 1, 2, 4
# An entry of dm-log-writes: sector, sectors, flags; it fills a sector, the data written follow.
ENTRY = struct.Struct("<QQQ")


class LoggedDevice:
    """A file system on a loop device over qemu-storage-daemon, whose driver blklogwrites keeps the log."""

    def __init__(self, home, kind, size):
        self.kind = kind
        self.folder = os.path.join(home, "device")
        self.mount_point = os.path.join(self.folder, "mount")
        os.makedirs(self.mount_point)
        self.image, self.log, self.export = (os.path.join(self.folder, name) for name in ("image", "log", "export"))
        for path, length in ((self.image, size), (self.log, 4 << 30)):
            with open(path, "wb") as file:
                file.truncate(length)
        open(self.export, "wb").close()
        self.storage = subprocess.Popen([
            "qemu-storage-daemon", "--blockdev", f"driver=file,node-name=image,filename={self.image}",
            "--blockdev", f"driver=file,node-name=log,filename={self.log}",
            "--blockdev", "driver=blklogwrites,node-name=logged,file=image,log=log,log-sector-size=512,"
            "log-super-update-interval=1",
            "--export", f"type=fuse,id=export,node-name=logged,mountpoint={self.export},writable=on"])
        until(lambda: os.path.getsize(self.export) == size, 10, "the device is there")
        self.loop = subprocess.check_output(["losetup", "-f", "--show", self.export], text=True).strip()
        make = {"ext4": ["mkfs.ext4", "-q", "-F", "-E", "nodiscard"], "xfs": ["mkfs.xfs", "-q", "-K"]}[kind]
        subprocess.run(make + [self.loop], check=True)
        self.mount()

    def mount(self):
        subprocess.run(["mount", self.loop, self.mount_point], check=True)

    def unmount(self):
        until(lambda: subprocess.run(["umount", self.mount_point]).returncode == 0, 10, "the mount goes")

    def count(self):
        """How many writes and flushes there have been."""
        with open(self.log, "rb") as file:
            return struct.unpack_from("<QQQI", file.read(28))[2]

    def close(self):
        if os.path.ismount(self.mount_point):
            self.unmount()
        subprocess.run(["losetup", "-d", self.loop], check=True)
        self.storage.terminate()
        self.storage.wait(10)


class Replay:
    """Goes through a device's log, keeping an image of what was written so far, flushed or not.

    Memory holds what came since the last flush, so that an image can leave out a part of it.
    """

    def __init__(self, device, folder):
        self.log = open(device.log, "rb")
        self.total = device.count()
        self.at, self.place = 0, SECTOR
        self.base = os.path.join(folder, "base")  # all up to the last flush
        self.pending = []  # (offset, data), since then
        with open(self.base, "wb") as file:
            file.truncate(os.path.getsize(device.image))

    def advance(self, count):
        """Goes on until that many entries were applied."""
        with open(self.base, "r+b") as base:
            while self.at < count:
                self.log.seek(self.place)
                sector, sectors, flags = ENTRY.unpack(self.log.read(ENTRY.size))
                self.place += SECTOR
                if flags & DISCARD:
                    data = bytes(sectors * SECTOR)
                else:
                    self.log.seek(self.place)
                    data = self.log.read(sectors * SECTOR)
                    self.place += len(data)
                if data:
                    self.pending.append((sector * SECTOR, data))
                if flags & (FLUSH | FUA):
                    self.settle(base)
                self.at += 1

    def settle(self, base):
        for offset, data in self.pending:
            base.seek(offset)
            base.write(data)
        self.pending = []

    def write_image(self, path, chance=None):
        """Writes the device as it may stand after a power cut now.

        All that was written is there; or, with a source of chance, of what came after the last flush only a random
        part, some of it torn: at sectors where it is of the queue, else at pages.
        """
        subprocess.run(["cp", "--sparse=always", self.base, path], check=True)
        with open(path, "r+b") as image:
            for offset, data in self.pending:
                unit = SECTOR if any(each in data for each in OWN) else PAGE
                keeps = chance.choice((0, 0.5, 1)) if chance else 1
                for start in range(0, len(data), unit):
                    if keeps == 1 or keeps and chance.random() < keeps:
                        image.seek(offset + start)
                        image.write(data[start : start + unit])


def same_bytes(first, second):
    """True where two files hold the same."""
    return subprocess.run(["cmp", "-s", first, second]).returncode == 0


class Copy:
    """An image, mounted for a while, beside others of the same file system."""

    def __init__(self, folder, kind):
        self.options = {"ext4": "loop", "xfs": "loop,nouuid"}[kind]
        self.image, self.mount_point = os.path.join(folder, "copy"), os.path.join(folder, "mount")
        self.folder = folder
        os.makedirs(self.mount_point)

    def __enter__(self):
        subprocess.run(["mount", "-o", self.options, self.image, self.mount_point], check=True)
        return self

    def __exit__(self, *_):
        until(lambda: subprocess.run(["umount", self.mount_point]).returncode == 0, 10, "the mount goes")
        shutil.rmtree(self.folder)


def chance_for(seed, prefix):
    """A source of chance that depends on nothing else."""
    return random.Random(f"{seed}-{prefix}")
