"""Small pictures for tests."""

import struct
import zlib

import numpy as np
from interlacer_client import Camera, SceneFrames

WIDTH, HEIGHT = 96, 64


def png(pixels):
    """Bytes of a PNG file of uint8 [h, w, 3] or uint16 [h, w]."""
    bits, color_type = (8, 2) if pixels.dtype == np.uint8 else (16, 0)
    rows = pixels.reshape(len(pixels), -1).astype(">u2" if bits == 16 else "u1")
    raw = b"".join(b"\0" + row.tobytes() for row in rows)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], bits, color_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def table(width=WIDTH, height=HEIGHT):
    """Colour, depth in millimetres and camera of a table seen from straight above: noise, so that pixels differ."""
    noise = np.random.default_rng(3)
    color = noise.integers(0, 256, (height, width, 3), np.uint8)
    depth_mm = noise.integers(1000, 1200, (height, width), np.uint16)
    depth_mm[:4] = 0  # no measurement
    camera = Camera(width, height, [[90, 0, (width - 1) / 2], [0, 90, (height - 1) / 2], [0, 0, 1]],
                    [[1, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 1.2], [0, 0, 0, 1]])
    return color, depth_mm, camera


def still(model, joints, make_view, **options):
    """Frames of a scene at rest, the same in every camera."""
    frames = SceneFrames(model, **options)
    for step in range(model.history_step_count):
        frames.add(step * 500_000_000, {camera.name: make_view() for camera in model.cameras}, joints)
    return frames


def read_png(path):
    """A 16-bit grey PNG file as uint16 [h, w]; of its filters all, as the format has them."""
    data = path.read_bytes()
    place, idat = 8, b""
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place:place + 8])
        chunk = data[place + 8:place + 8 + size]
        if kind == b"IHDR":
            width, height, bits, color_type = struct.unpack(">IIBB", chunk[:10])
            assert (bits, color_type) == (16, 0), "16-bit grey"
        idat += chunk if kind == b"IDAT" else b""
        place += size + 12
    raw, before, rows = zlib.decompress(idat), [0] * (2 * width), []
    for y in range(height):
        kind, *row = raw[y * (2 * width + 1):(y + 1) * (2 * width + 1)]
        for x in range(2 * width):
            left, up, corner = (row[x - 2], before[x], before[x - 2]) if x > 1 else (0, before[x], 0)
            paeth = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
            row[x] = (row[x] + (0, left, up, (left + up) // 2, paeth)[kind]) % 256
        rows.append(before := row)
    return np.array(rows, np.uint8).view(">u2").astype(np.uint16)
