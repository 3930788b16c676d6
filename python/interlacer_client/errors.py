"""The one exception of this package."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

import grpc
from interlacer.rpc import error_details_pb2, status_pb2

_DETAILS_KEY = "grpc-status-details-bin"


class InterlacerError(Exception):
    """A call that failed, or an argument that no call can be made of.

    code           canonical gRPC name, such as "INVALID_ARGUMENT"
    reason         fixed word for programs, such as "DEPTH_UNIT_MISSING"; "" where the gRPC library itself failed
    message        readable alone
    field          path of the offending field, such as "source.scene_input.observations[1].views[0].depth"; may be ""
    expected, got, limit   the numbers of the message as text, or None
    retry_delay_s  when the server asks to come again (QUEUE_FULL), or None
    metadata       all that the server said of the error
    """

    def __init__(self, code: str, message: str, reason: str = "", field: str = "",
                 metadata: Optional[Mapping[str, str]] = None, retry_delay_s: Optional[float] = None) -> None:
        super().__init__(code, message, reason, field, metadata, retry_delay_s)  # what pickle makes it of again
        self.code = code
        self.message = message
        self.reason = reason
        self.field = field
        self.metadata: Dict[str, str] = dict(metadata or {})
        self.retry_delay_s = retry_delay_s

    @property
    def expected(self) -> Optional[str]:
        return self.metadata.get("expected")

    @property
    def got(self) -> Optional[str]:
        return self.metadata.get("got")

    @property
    def limit(self) -> Optional[str]:
        return self.metadata.get("limit")

    def __str__(self) -> str:
        return " ".join(filter(None, (self.code, self.reason))) + ": " + self.message


def mismatch(field: str, expected: object, got: object, reason: str = "ARGUMENT_INVALID") -> InterlacerError:
    """The usual mistake of a caller."""
    return InterlacerError("INVALID_ARGUMENT", f"{field}: expected {expected}, got {got}", reason, field,
                           {"expected": str(expected), "got": str(got)})


def details_of(error: Any, request_id: str = "") -> status_pb2.Status:
    """google.rpc.Status of a grpc.RpcError; the server's details, if it sent any, and the id of the request that failed."""
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            status.ParseFromString(value)
    status.code, status.message = error.code().value[0], error.details() or ""
    if request_id:
        info = error_details_pb2.RequestInfo(request_id=request_id)
        # Packed by hand: the package's own copies of google.rpc have names of their own.
        status.details.add(type_url="type.googleapis.com/google.rpc.RequestInfo", value=info.SerializeToString())
    return status


def from_rpc(error: Any, deadline_s: float, proxy: str = "") -> InterlacerError:
    """InterlacerError of a grpc.RpcError that a call with this deadline ended with; `proxy` is the variable of the proxy on
    the way, if any."""
    info, violations = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    for detail in details_of(error).details:
        # By the last word of the name: the package's own copies of google.rpc have names of their own, because other
        # packages bring theirs.
        for message in (info, violations, retry):
            if detail.type_url.endswith("." + message.DESCRIPTOR.name):
                message.ParseFromString(detail.value)
    metadata, message_text = dict(info.metadata), error.details() or ""
    unreachable = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED) and not info.reason
    if unreachable and proxy:
        message_text += (f" (the environment sets {proxy}: the connection goes through that proxy unless no_proxy names the "
                         "host)")
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and not info.reason:
        message_text = f"no answer within the deadline of {deadline_s:g} s: {message_text}"
        metadata["limit"] = f"{deadline_s:g}"
    fields = violations.field_violations
    delay_s = retry.retry_delay.ToNanoseconds() / 1e9 if retry.HasField("retry_delay") else None
    return InterlacerError(error.code().name, message_text, info.reason, fields[0].field if fields else "", metadata,
                           delay_s)


