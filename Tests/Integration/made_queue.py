"""Writes queue directories of any size from the format's page, without the daemon: segments that are mostly holes."""
import ctypes
import json
import os
import struct
import subprocess

from harness import ROOT

BLOCK = 512
BATCH_HEADER, TRAILER, TABLE_ENTRY, RECORD_HEADER = 128, 136, 8, 48
ETHERNET, NO_GATES = 2, 0


def checksum_library(home):
    """CRC32C as a function of (bytes, seed), built from the daemon's own C file."""
    library = os.path.join(home, "crc32c.so")
    folder = os.path.join(ROOT, "Sources", "CChecksum")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", os.path.join(folder, "include"), "-o", library,
                    os.path.join(folder, "crc32c.c")], check=True)
    function = ctypes.CDLL(library).cc_crc32c
    function.argtypes, function.restype = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t], ctypes.c_uint32
    return lambda data, seed=0: function(seed, data, len(data))


def padded(data, unit):
    """The bytes with zeros up to a multiple of `unit`."""
    return data + bytes(-len(data) % unit)


class MadeQueue:
    """The log `normal` of a directory that a daemon has made a queue, filled with segments of its own."""

    def __init__(self, folder, crc, wall=1_700_000_000_000):
        self.crc, self.wall = crc, wall
        self.folder = os.path.join(folder, "logs", "normal")
        os.makedirs(self.folder, mode=0o700)
        with open(os.path.join(folder, "FORMAT"), "rb") as file:
            self.identity = file.read()[16:32]
        self.seal = struct.unpack_from("<I", self.identity)[0]
        self.epoch = 0x1234_5678_9ABC_DEF0
        self.next_segment, self.next_event = 1, 1
        self.previous = (0, 0, 0)  # segment, valid length, last event

    def add(self, size, batches):
        """A segment of `size` bytes: a batch of each list of events, the first where it begins, the others at its end.

        Between them is a hole, which no number of a batch or an event misses.
        """
        segment, first = self.next_segment, self.next_event
        header = struct.pack(
            "<HHII16sQQQQqQQQQIIQQB47sQ", 1, 512, BLOCK, 0, self.identity, segment, self.epoch, first, first - 1,
            self.wall, 0, *self.previous, 0, 0, 0, 0, 6, b"normal", size)
        header = padded(b"UPLINKS\n" + struct.pack("<I", 0) + header, 512)
        header = header[:8] + struct.pack("<I", self.crc(header[12:])) + header[12:]
        made = [self.batch(segment, number, events) for number, events in enumerate(batches)]
        places = [BLOCK] + [size - sum(each for each, _ in made[number:]) for number in range(1, len(made))]
        written = [seal(place) for (_, seal), place in zip(made, places)]
        path = os.path.join(self.folder, f"{segment:016x}-{first:020d}.segment")
        with open(path, "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.truncate(size)
            file.write(header)
            for place, batch in zip(places, written):
                file.seek(place)
                file.write(batch)
        self.next_segment += 1
        self.previous = (segment, size if written[1:] else BLOCK + len(written[0]), self.next_event - 1)
        return path

    def batch(self, segment, number, events):
        """The size of a batch, and what gives its bytes for where it stands; its events get the next sequence numbers.
        """
        context = bytes([ETHERNET, NO_GATES])
        first, seed = self.next_event, (segment ^ number ^ self.epoch) & 0xFFFF_FFFF
        self.next_event += len(events)
        table = b"".join(struct.pack("<II", len(event), 0) for event in events)
        records = []
        for sequence, event in enumerate(events, first):
            body = struct.pack("<IQqII16s", len(event), sequence, self.wall, 0, 0, b"") + event
            records.append(padded(struct.pack("<I", self.crc(body, seed)) + body, 8))
        records = b"".join(records)
        head = padded(context, 8) + table + records
        size = (BATCH_HEADER + len(head) + 8 + TRAILER + BLOCK - 1) // BLOCK * BLOCK

        def seal(place):
            header = struct.pack(
                "<QQQQIIIHHIIqQQII32s", segment, self.epoch, number, first, len(events), len(records), size,
                len(context), 0, self.crc(context), self.crc(table), self.wall, 0, number, 0, place // 512, b"")
            header = struct.pack("<4sI", b"UPB1", self.crc(header, self.seal)) + header
            trailer = b"UPT1" + header
            trailer += struct.pack("<I", self.crc(trailer, self.seal))
            filling = bytes(size - BATCH_HEADER - len(head) - 8 - TRAILER)
            return header + head + filling + padded(context, 8) + trailer

        return size, seal


def numbered(first, count, length=0):
    """Events with the numbers from `first` on, each about so many bytes long."""
    text = "x" * max(0, length - 20)
    return [json.dumps({"n": number, "x": text}).encode() for number in range(first, first + count)]
