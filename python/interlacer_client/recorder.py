"""Recordings of what went over the wire, for whoever asks later what the robot was told."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from pathlib import Path
from typing import Any, BinaryIO, Iterator, Optional, Union

from google.protobuf import any_pb2
from google.protobuf.message import DecodeError
from interlacer.rpc import status_pb2
from interlacer.v1 import interlacer_service_pb2 as service

from .errors import InterlacerError, mismatch

_PREFIX = "type.googleapis.com/"
# Of which call the next message is, in recordings of a server.
_CALL = _PREFIX + "google.protobuf.UInt64Value"


class Recorder:
    """Writes every request and answer of a client, and the google.rpc.Status of calls that failed, while it is open.

    The file is a stream of google.protobuf.Any, each after its length as a varint ("delimited" messages), flushed one by
    one: a process that dies leaves all but its last message. Answers find their request by request_id, errors by that of
    the google.rpc.RequestInfo among their details, so a prediction that has none gets a number. Threads: as the client's.
    """

    def __init__(self, client: Any, path: Union[str, Path], *, max_bytes: Optional[float] = None) -> None:
        """Past `max_bytes`, or from the first message on that the disk does not take, nothing more is written and no call
        fails for it; `dropped_count` says how many messages that were."""
        self.dropped_count = 0
        self._client = client
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._file: BinaryIO = open(path, "wb")
        client.tap = self._write

    def close(self) -> None:
        self._client.tap = None
        with self._lock:
            self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, message: Any) -> None:
        is_prediction = isinstance(message, (service.PredictRolloutRequest, service.PredictCandidatesRequest))
        if is_prediction and not message.request_id:
            message.request_id = f"recorded-{next(self._numbers)}"
        name = "google.rpc.Status" if isinstance(message, status_pb2.Status) else message.DESCRIPTOR.full_name
        record = any_pb2.Any(type_url=_PREFIX + name, value=message.SerializeToString()).SerializeToString()
        with self._lock:
            if self.dropped_count:  # none after a gap
                self.dropped_count += 1
            elif not self._file.closed and not self._append(record):
                self.dropped_count = 1

    def _append(self, record: bytes) -> bool:
        if self._max_bytes is not None and self._file.tell() + len(record) > self._max_bytes:
            return False
        try:
            self._file.write(_varint(len(record)) + record)
            self._file.flush()
        except OSError:
            with contextlib.suppress(OSError):  # closing writes what is left once more
                self._file.close()
            return False
        return True


def read_recording(path: Union[str, Path]) -> Iterator[Any]:
    """The messages of a recording, in the order in which they were sent and came. A file that was cut gives what is whole
    and then raises DATA_LOSS with the position."""
    with open(path, "rb") as file:
        while True:
            start = file.tell()
            length = _read_varint(file)
            if length is None and file.tell() == start:
                return
            left = os.fstat(file.fileno()).st_size - file.tell()
            record = file.read(min(length or 0, left))  # allocates nothing for a length that the file cannot hold
            if length is None or len(record) < length:
                raise InterlacerError("DATA_LOSS", f"{path} is cut in the message at byte {start}",
                                      metadata={"got": str(file.tell() - start)})
            try:
                message = any_pb2.Any.FromString(record)
                found = None if message.type_url == _CALL else _message(message)
            except DecodeError:
                raise mismatch(str(path), "a recording", f"no message at byte {start}", "SCHEMA_INVALID") from None
            if found is not None:
                yield found


def _message(record: any_pb2.Any) -> Any:
    name = record.type_url.rsplit(".", 1)[-1]
    kind = status_pb2.Status if record.type_url == _PREFIX + "google.rpc.Status" else getattr(service, name, None)
    if kind is None:
        raise mismatch("type_url", "a message of interlacer.v1", record.type_url)
    return kind.FromString(record.value)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def _read_varint(file: BinaryIO) -> Optional[int]:
    number = 0
    for shift in range(0, 64, 7):
        byte = file.read(1)
        if not byte:
            return None
        number |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return number
    return None
