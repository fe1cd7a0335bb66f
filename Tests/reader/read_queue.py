#!/usr/bin/python3
"""read_queue.py DIR: prints the events and the cursors of a queue, going by Documentation/queue-format.md alone."""
import glob, os, sys

TABLE = list(range(256))
for _ in range(8):
    TABLE = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in TABLE]

def crc(data, seed=0):
    value = seed ^ 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF

def get(data, at, size=8):
    return int.from_bytes(data[at : at + size], "little")

def sheet(data, magic):
    """The 512 bytes of FORMAT or of a segment's header; zeros where they are damaged."""
    return data if data[:8] == magic and crc(data[12:]) == get(data, 8, 4) and get(data, 12, 2) == 1 else bytes(512)

def batch(data, at, segment, seal):
    """Where the batch begins whose header is at `at`, or whose trailer ends 512 bytes further, and the header."""
    def good(head, start):
        place = get(head, 8), get(head, 92, 4) * 512
        return head[:4] == b"UPB1" and place == (segment, start) and crc(head[8:], seal) == get(head, 4, 4)
    head, trailer, start = data[at : at + 128], data[at + 376 : at + 512], at + 512 - get(data, at + 428, 4)
    if good(head, at):
        return at, head
    if trailer[:4] == b"UPT1" and crc(trailer[:132], seal) == get(trailer, 132, 4) and good(trailer[4:132], start):
        return start, trailer[4:132]

def search(data, at, end, seeds, first, last, found):
    """Takes whole records with numbers from first to last into `found`; a seed stands for the epoch that gives it."""
    while first <= last and at + 48 <= end:
        sequence, whole = get(data, at + 8), at + 48 + get(data, at + 4, 4)
        due = seeds if first <= sequence <= last and whole <= end else []
        fits = [seed for seed in due if crc(data[at + 4 : whole], seed) == get(data, at, 4)]
        if fits:
            found[sequence] = seeds[fits[0]], None if get(data, at + 28, 4) >> 31 else data[at + 48 : whole], whole
            first = sequence + 1
        at = (whole + 7) // 8 * 8 if fits else at + 8

def read_segment(data, segment, sequence, at, epochs, seal):
    """Sequence number -> epoch, event (None for a hole), where it ends."""
    def seeds(numbers, epochs):
        return {(segment ^ number ^ epoch) & 0xFFFFFFFF: epoch for number in numbers for epoch in epochs}
    found, expected, free = {}, 0, at
    while at + 512 <= len(data):
        start, head = batch(data, at, segment, seal) or (-1, b"")
        epoch, number, first, last = get(head, 16), get(head, 24), get(head, 32), get(head, 32) + get(head, 40, 4) - 1
        if start < free or number < expected or first < sequence:
            at += 512
            continue
        search(data, free, start, seeds(range(expected, number), epochs + [epoch]), sequence, first - 1, found)
        table = start + 128 + (get(head, 52, 2) + 7) // 8 * 8
        here = records = table + 8 * (last + 1 - first)
        lengths = data[table:records] if crc(data[table:records]) == get(head, 60, 4) else b""
        for place in range(0, len(lengths), 8):
            sequence, length, mask = first + place // 8, get(lengths, place, 4), get(lengths, place + 4, 4)
            search(data, here, here + 48 + length, seeds([number], [epoch]), sequence, sequence, found)
            if sequence not in found and mask >> 31:
                found[sequence] = epoch, None, here
            here += (55 + length) // 8 * 8
        if not lengths:
            search(data, records, records + get(head, 44, 4), seeds([number], [epoch]), first, last, found)
        expected, sequence, epochs = number + 1, last + 1, epochs[:1] + [epoch]
        at = free = start + get(head, 48, 4)
    end = min(len(data), free + 4194360)
    search(data, free, end, seeds(range(expected, expected + 256), epochs), sequence, sequence + 4096, found)
    return found

def main(queue):
    def contents(name):
        return open(name, "rb").read() if os.path.exists(name) else b""
    paths = sorted(glob.glob(os.path.join(glob.escape(queue), "logs/*/*.segment")), reverse=True)
    page, headers = contents(queue + "/FORMAT"), {path: sheet(contents(path)[:512], b"UPLINKS\n") for path in paths}
    sheets = [sheet(page[:512], b"UPLINKQ\n")[16:32], sheet(page[2048:2560], b"UPLINKQ\n")[16:32]]
    identity = next(each for each in sheets + [head[24:40] for head in headers.values()] if any(each))
    seal = get(identity, 0, 4)
    for log in sorted({os.path.dirname(path) for path in paths}):
        events, least, after = {}, 1 << 64, bytes(512)
        for path in [path for path in paths if os.path.dirname(path) == log]:
            segment, first, name = int(path[-45:-29], 16), int(path[-28:-8]), os.path.basename(log).encode()
            head = headers[path] if get(headers[path], 40) == segment else bytes(512)
            found = read_segment(contents(path), segment, first, get(head, 16, 4) or 512, [get(head, 48)], seal)
            if (get(head, 56), head[137 : 137 + head[136]], head[24:40]) != (first, name, identity) and any(head):
                continue
            for sequence, (epoch, event, end) in found.items():
                if sequence < least or get(after, 88) == segment and end <= get(after, 96):
                    events.setdefault(sequence, (epoch, event))
            if found or any(head):
                least, after = min(least, first), head
        for sequence, (epoch, event) in sorted(item for item in events.items() if item[1][1] is not None):
            print(f"event {name.decode()} {epoch:016x}-{sequence}", event.decode().translate({10: " ", 13: " "}))
    slots, cursors = {}, contents(queue + "/cursors")
    for at, slot in [(at, cursors[at : at + 512]) for at in range(0, len(cursors), 512)]:
        if slot[:4] == b"UPC1" and crc(slot[8:], seal) == get(slot, 4, 4):
            slots[at // 8192, at % 4096] = max(slots.get((at // 8192, at % 4096), (0, b"")), (get(slot, 8), slot))
    for _, (_, slot) in sorted(slots.items()):
        names = slot[17 : 17 + slot[16]].decode(), slot[50 : 50 + slot[49]].decode()
        print("cursor", *names, *[get(slot, at) for at in range(96, 160, 8)])

main(sys.argv[1])
