"""events.py FOLDER... - the train.tfevents of runs have the measurements of their
train.csv. The reader follows the description of the format: TFRecord, the CRC-32C,
protobuf's wire format and the numbers of the fields in Event and Summary; no part of the
program is used. The CSV's numbers are rounded."""

import csv
import struct
import sys

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def checksum(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    while data:
        length, sum_of_length = struct.unpack_from("<QI", data)
        assert sum_of_length == checksum(data[:8])
        body, data = data[12 : 12 + length], data[12 + length :]
        assert len(body) == length and struct.unpack_from("<I", data)[0] == checksum(body)
        yield body
        data = data[4:]


def varint(data):
    x = shift = 0
    for i, byte in enumerate(data):
        x |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return x, data[i + 1 :]


def fields(data):
    """(number, value): bytes, or an integer"""
    while data:
        key, data = varint(data)
        kind = key & 7
        if kind == 0:
            value, data = varint(data)
        else:
            n, data = {1: (8, data), 5: (4, data)}.get(kind) or varint(data)
            value, data = data[:n], data[n:]
            assert len(value) == n
        yield key >> 3, value


def events(path):
    """step, {tag: value} of every event; the first record is the version"""
    first, *others = records(open(path, "rb").read())
    assert dict(fields(first))[3] == b"brain.Event:2"
    for record in others:
        event = dict(fields(record))
        assert struct.unpack("<d", event[1])[0] > 1.7e9, "seconds since 1970"
        values = [dict(fields(value)) for _, value in fields(event[5])]
        yield event[2], {v[1].decode(): struct.unpack("<f", v[2])[0] for v in values}


def main():
    columns = {"loss/train": "loss", "loss/val": "val"}
    for folder in sys.argv[1:]:
        rows = list(csv.DictReader(open(folder + "/train.csv")))
        found = list(events(folder + "/train.tfevents"))
        assert [step for step, _ in found] == [int(row["step"]) for row in rows], folder
        for (step, values), row in zip(found, rows, strict=True):
            want = {c for c in row if row[c] and c not in ("step", "machine")}
            assert {columns.get(tag, tag) for tag in values} == want, (step, values, row)
            for tag, value in values.items():
                given = float(row[columns.get(tag, tag)])
                least = 1 if tag == "tokens_per_s" else 1e-6  # by which the CSV may differ
                assert abs(value - given) <= 1e-5 * abs(given) + least, (step, tag, value)
        print(folder, len(found), "events")


main()
