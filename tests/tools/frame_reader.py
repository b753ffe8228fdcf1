"""Reads contiguous Blosc2 frames, and stores of such frames in directories, with the standard library alone. Tests use
it to check what a mount has written. Supports only BloscLZ, shuffle and special chunks. Anything else is a ValueError.
"""
import math
import os
import struct

MAX_HEAP = 1 << 28


def require(holds, what):
    if not holds:
        raise ValueError(what)


# --- codec: frame/formats and codec/formats

def decode_blosclz(stream, size):
    out = bytearray()
    at, op = 1, stream[0] & 31
    while True:
        if op < 32:
            out += stream[at:at + op + 1]
            at += op + 1
        else:
            length, high = op >> 5, op & 31
            if length == 7:
                more = 255
                while more == 255:
                    more = stream[at]
                    length, at = length + more, at + 1
            length += 2
            low, at = stream[at], at + 1
            distance = high * 256 + low + 1
            if high == 31 and low == 255:
                distance = 8192 + stream[at] * 256 + stream[at + 1]
                at += 2
            require(distance <= len(out), "match before the start")
            for _ in range(length):
                out.append(out[-distance])
        require(len(out) <= size, "stream too long")
        if at >= len(stream):
            break
        op, at = stream[at], at + 1
    require(len(out) == size, "stream of another size")
    return bytes(out)


def unshuffle(block, typesize):
    whole = len(block) - len(block) % typesize
    count, out = whole // typesize, bytearray(block)
    for byte in range(typesize):
        out[byte:whole:typesize] = block[byte * count:(byte + 1) * count]
    return bytes(out)


def decode_stream(chunk, at, size):
    (stored,) = struct.unpack_from("<i", chunk, at)
    at += 4
    if stored <= 0:
        return bytes([-stored]) * size, at + (stored < 0)
    stream = chunk[at:at + stored]
    require(len(stream) == stored, "stream beyond the chunk")
    return stream if stored == size else decode_blosclz(stream, size), at + stored


def decode_chunk(chunk):
    flags, typesize, nbytes, blocksize, cbytes = struct.unpack_from("<2xBBiii", chunk)
    require(flags & 5 == 5 and len(chunk) >= cbytes >= 32, "chunk header")
    special = chunk[0x1f] >> 4 & 7
    if special:
        value = {1: b"\0", 2: {4: b"\0\0\xc0\x7f", 8: b"\0\0\0\0\0\0\xf8\x7f"}.get(typesize), 3: chunk[32:cbytes],
                 4: b"\0"}[special]
        return value * (nbytes // len(value))
    if flags & 2:
        return chunk[32:32 + nbytes]
    if nbytes == 0:
        return b""
    require(flags >> 5 == 0, "a codec that is not read here")
    filters = [f for f in chunk[0x10:0x16] if f]
    require(filters in ([], [1]), "filters that are not read here")
    blocksize = min(blocksize, nbytes)
    out = []
    for number, begin in enumerate(range(0, nbytes, blocksize)):
        size = min(blocksize, nbytes - begin)
        streams = typesize if not flags & 16 and size == blocksize else 1
        (at,) = struct.unpack_from("<i", chunk, 32 + 4 * number)
        parts = []
        for _ in range(streams):
            part, at = decode_stream(chunk, at, size // streams)
            parts.append(part)
        block = b"".join(parts)
        out.append(unshuffle(block, typesize) if filters else block)
    return b"".join(out)


# --- frames

def layers_at(data, section, base, decode):
    """Reads the metalayers of a section. Offsets count from `base`."""
    require(data[section] == 0x93 and data[section + 4] == 0xde, "metalayers")
    (count,) = struct.unpack_from(">H", data, section + 5)
    at, found = section + 7, {}
    for _ in range(count):
        size = data[at] & 31
        name = data[at + 1:at + 1 + size].decode()
        require(data[at + 1 + size] == 0xd2, "offset of a metalayer")
        (offset,) = struct.unpack_from(">i", data, at + 2 + size)
        at += 6 + size
        require(data[base + offset] == 0xc6, "content of a metalayer")
        (length,) = struct.unpack_from(">I", data, base + offset + 1)
        content = data[base + offset + 5:base + offset + 5 + length]
        require(len(content) == length, "size of a metalayer")
        found[name] = decode_chunk(content) if decode else content
    return found


class Frame:
    def __init__(self, data):
        self.data = data
        require(data[:11] == b"\x9e\xa8b2frame\0\xd2", "no frame")
        self.header_len, self.frame_len = struct.unpack_from(">ixQ", data, 11)
        require(self.frame_len <= len(data), "frame is cut")
        self.nbytes, self.cbytes = struct.unpack_from(">qxq", data, 30)
        self.typesize, self.blocksize, self.chunksize = struct.unpack_from(">ixixi", data, 48)
        (trailer_len,) = struct.unpack_from(">I", data, self.frame_len - 22)
        require(data[self.frame_len - 23] == 0xce, "trailer")
        trailer = self.header_len if self.nbytes == 0 else self.frame_len - trailer_len
        self.meta = layers_at(data, 87, 0, False)
        self.vlmeta = layers_at(data, trailer + 2, trailer, True)

    def chunks(self):
        if self.nbytes == 0:
            return
        index = decode_chunk(self.data[self.header_len + self.cbytes:])
        count = math.ceil(self.nbytes / self.chunksize)
        require(len(index) == 8 * count, "size of the index")
        for number, entry in enumerate(struct.unpack(f"<{count}q", index)):
            size = min(self.chunksize, self.nbytes - number * self.chunksize)
            if entry < 0:
                require(entry >> 56 & 0xff in (0x81, 0x84), "special entry")
                yield bytes(size)
                continue
            chunk = decode_chunk(self.data[self.header_len + entry:])
            require(len(chunk) == size, "size of a chunk")
            yield chunk

    def contents(self):
        require(self.nbytes <= MAX_HEAP, "too large for this reader")
        return b"".join(self.chunks())

    def array(self):
        """Returns (dtype, shape, elements in C order), or None if the frame is no array."""
        layer = self.meta.get("b2nd")
        if layer is None:
            return None
        dims = layer[2]
        at, parts = 3, []
        for marker, step, form in (0xd3, 9, "q"), (0xd2, 5, "i"), (0xd2, 5, "i"):
            at += 1
            parts.append([struct.unpack_from(">" + form, layer, at + step * i + 1)[0] for i in range(dims)])
            require(dims == 0 or layer[at] == marker, "b2nd")
            at += step * dims
        (size,) = struct.unpack_from(">I", layer, at + 2)
        return layer[at + 6:at + 6 + size].decode(), parts[0], self.elements(*parts)

    def elements(self, shape, chunkshape, blockshape):
        padded = [math.ceil(c / b) * b if b else 0 for c, b in zip(chunkshape, blockshape)]
        across = [math.ceil(s / c) if c else 0 for s, c in zip(shape, chunkshape)]
        blocks = [p // b if b else 0 for p, b in zip(padded, blockshape)]
        out = bytearray(math.prod(shape) * self.typesize)
        chunks = list(self.chunks())

        def ravel(place, extents):
            number = 0
            for one, extent in zip(place, extents):
                number = number * extent + one
            return number

        for number in range(math.prod(shape)):
            place, rest = [], number
            for extent in reversed(shape):
                place.insert(0, rest % extent)
                rest //= extent
            inside = [i % c for i, c in zip(place, chunkshape)]
            chunk = chunks[ravel([i // c for i, c in zip(place, chunkshape)], across)]
            block = ravel([i // b for i, b in zip(inside, blockshape)], blocks)
            item = ravel([i % b for i, b in zip(inside, blockshape)], blockshape)
            at = (block * math.prod(blockshape) + item) * self.typesize
            out[number * self.typesize:(number + 1) * self.typesize] = chunk[at:at + self.typesize]
        return bytes(out)

    def value(self):
        """Returns the contents of a leaf: ("array", dtype, shape, elements) or ("flat", contents)."""
        array = self.array()
        return ("array", *array) if array else ("flat", self.contents())


# --- stores

def read_msgpack(data, at=0):
    """Reads a value, and returns it with the offset of the next one. Knows maps, texts and non-negative integers."""
    first = data[at]
    if first < 0x80:
        return first, at + 1
    if first in (0xcc, 0xcd, 0xce, 0xcf):
        size = 1 << (first - 0xcc)
        return int.from_bytes(data[at + 1:at + 1 + size], "big"), at + 1 + size
    if first & 0xe0 == 0xa0 or first in (0xd9, 0xda, 0xdb):
        head = 0 if first < 0xc0 else 1 << (first - 0xd9)
        size = first & 31 if head == 0 else int.from_bytes(data[at + 1:at + 1 + head], "big")
        begin = at + 1 + head
        return data[begin:begin + size].decode(), begin + size
    require(first & 0xf0 == 0x80 or first in (0xde, 0xdf), "msgpack")
    head = {0xde: 2, 0xdf: 4}.get(first, 0)
    count = int.from_bytes(data[at + 1:at + 1 + head], "big") if head else first & 15
    at, found = at + 1 + head, {}
    for _ in range(count):
        key, at = read_msgpack(data, at)
        found[key], at = read_msgpack(data, at)
    return found, at


def embedded_leaves(embed):
    """Returns the embedded frames by key."""
    require(any(embed.meta.get(kind) == b"\x81\xa7version\x01" for kind in ("b2dict", "b2tree", "b2embed")), "marker")
    layer = embed.vlmeta.get("estore_metadata")
    if layer is None:
        return {}
    heap, entries = embed.contents(), read_msgpack(layer)[0]["embed_map"]
    found = {}
    for key, entry in entries.items():
        part = heap[entry["offset"]:entry["offset"] + entry["length"]]
        found[key] = Frame(part)
        require(found[key].frame_len == len(part), "length of an embedded leaf")
    return found


def read_store(root):
    """Returns the contents of the leaves by key, without attributes of groups, and the set of directories."""
    with open(f"{root}/embed.b2e", "rb") as file:
        leaves = embedded_leaves(Frame(file.read()))
    groups, external = set(), {}
    for place, directories, files in os.walk(root):
        below = os.path.relpath(place, root)
        stem = "" if below == "." else "/" + below
        groups |= {f"{stem}/{name}" for name in directories}
        for name in files:
            if name.endswith((".tmp", ".b2lock", ".bloscfs-lock")) or (name == "embed.b2e" and not stem):
                continue
            key = f"{stem}/{os.path.splitext(name)[0]}"
            require(key not in external, f"two files of the key {key}")
            with open(f"{place}/{name}", "rb") as file:
                external[key] = Frame(file.read())
    leaves.update(external)
    return {key: leaf.value() for key, leaf in leaves.items()}, groups
