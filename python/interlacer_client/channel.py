"""Connections: options of the channel, and one channel a process."""

from __future__ import annotations

import ipaddress
import os
import pkgutil
import re
import threading
from typing import Any, Callable, List, Optional, Tuple

from .errors import InterlacerError, mismatch

#: Default deadlines of calls, seconds.
UNARY_DEADLINE_S = 10.0
STREAM_DEADLINE_S = 60.0
MAX_MESSAGE_BYTES = 64 << 20

#: Longest pause between two attempts to connect, of which gRPC takes a fifth more or less, and longest wait of a call for a
#: connection that was lost: it sees one attempt at least.
MAX_RECONNECT_PAUSE_S = 0.8
MAX_CONNECTION_WAIT_S = 1.0


#: Of a sockaddr_un, without the byte behind it.
_MAX_PATH_BYTES = 107
_HOST_AND_PORT = re.compile(r"""(?:\[[^]\s\[/@,"']*:[^]\s\[/@,"']*\]|[^]\s\[:/@,"']+):([0-9]{1,5})""", re.ASCII)


def check_address(address: str) -> None:
    """Refuses what gRPC would read in its own way: port 99999 as 34463, the name of a port as 0, http:// as a host."""
    scheme, _, rest = address.partition(":")
    if scheme in ("unix", "unix-abstract") and rest:
        if len(rest.encode("utf-8", "surrogateescape")) <= _MAX_PATH_BYTES:
            return
        raise mismatch("address", f"a path of 1 to {_MAX_PATH_BYTES} bytes", address)
    is_list = scheme in ("ipv4", "ipv6")
    hosts = rest if is_list or scheme == "dns" else address
    if hosts.startswith("//"):
        hosts = hosts[2:].partition("/")[2]
    for host in hosts.split(",") if is_list else [hosts]:
        found = _HOST_AND_PORT.fullmatch(host)
        if found is None or not 1 <= int(found.group(1)) <= 65535:
            raise mismatch("address", "HOST:PORT, [IPv6]:PORT, unix:PATH or unix-abstract:NAME with a port of 1 to 65535, and "
                           "no http:// in front", address or "nothing")


def is_loopback(address: str) -> bool:
    """Whether an address of gRPC is on this machine: unix sockets, "localhost", 127.0.0.0/8, ::1, and where servers listen
    (0.0.0.0, ::)."""
    name = address.split(":///")[-1] if ":///" in address else address
    for scheme in ("dns:", "ipv4:", "ipv6:"):
        name = name[len(scheme):] if name.startswith(scheme) else name
    if name.startswith("unix:") or address.startswith("unix"):
        return True
    host = name.split("]")[0].strip("[") if name.startswith("[") else name.rsplit(":", 1)[0]
    try:
        return ipaddress.ip_address(host).is_loopback or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == "localhost"


def proxy_for(address: str) -> str:
    """The variable of the proxy through which gRPC connects to an address, or "" where it takes none."""
    host = address.split("/")[-1].rsplit(":", 1)[0].lower()
    excluded = os.environ.get("no_grpc_proxy") or os.environ.get("no_proxy") or ""
    if is_loopback(address) or any(part.strip() and host.endswith(part.strip().lower()) for part in excluded.split(",")):
        return ""
    return next((name for name in ("grpc_proxy", "https_proxy", "http_proxy") if os.environ.get(name)), "")


def maker(module: Any, credentials: Optional[Any]) -> Callable[[str, List[Tuple[str, Any]]], Any]:
    """What makes a channel of grpc or grpc.aio, with TLS where there are credentials."""
    if credentials is None:
        return lambda address, chosen: module.insecure_channel(address, chosen)
    return lambda address, chosen: module.secure_channel(address, credentials, chosen)


def options(address: str, retry: bool, max_message_bytes: int) -> List[Tuple[str, Any]]:
    """Of the channel. A connection that fails is tried again after a tenth of a second, at last about every second; one that
    is idle is not pinged."""
    check_address(address)
    chosen: List[Tuple[str, Any]] = [
        ("grpc.max_send_message_length", max_message_bytes), ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.keepalive_time_ms", 30_000), ("grpc.keepalive_permit_without_calls", 0),
        ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", round(MAX_RECONNECT_PAUSE_S * 1000)), ("grpc.enable_retries", int(retry))]
    if retry:
        config = pkgutil.get_data(__package__, "service_config.json") or b"{}"
        # A message that does not fit is sent once only; the default is 256 KiB.
        chosen += [("grpc.service_config", config.decode()), ("grpc.per_rpc_retry_buffer_size", max_message_bytes)]
    if is_loopback(address):
        chosen.append(("grpc.enable_http_proxy", 0))  # http_proxy would send our own machine's calls elsewhere
    return chosen


# Unasked, gRPC's core stops and joins its threads in whoever forks, and in gRPC 1.51 (Debian 12) the fork of a process
# that has made a call often never returns. A process that wants those handlers says so itself. gRPC reads this when its
# first channel is made.
_FORK_SUPPORT = "GRPC_ENABLE_FORK_SUPPORT"
os.environ.setdefault(_FORK_SUPPORT, "0")

#: The process in which this package first used gRPC.
_first_process: List[int] = []


def check_not_forked() -> None:
    """gRPC's threads do not survive a fork, and calls of the child would wait for them for ever."""
    if not _first_process:
        _first_process.append(os.getpid())
    supported = os.environ.get(_FORK_SUPPORT, "").lower() in ("1", "true", "yes")
    if _first_process[0] != os.getpid() and not supported:
        raise InterlacerError(
            "FAILED_PRECONDITION", "this process was forked off after the first call, and gRPC cannot be used in it: fork "
            "before the first call, or start processes with multiprocessing's \"spawn\"", "FORKED_AFTER_USE")


class ProcessChannel:
    """A channel that is made by the first call in a process.

    `is_lost` is set by a call that found no server. gRPC attends to a new connection while somebody waits for the channel,
    and otherwise every few seconds: calls that fail at once could find a server that is back only after ten. So the next
    call waits for the connection first, for at most `patience_s`, and says UNAVAILABLE where there is still none."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._channel: Optional[Any] = None
        self._process = 0
        self.is_lost = False

    def get(self) -> Any:
        with self._lock:
            if self._channel is None or self._process != os.getpid():
                check_not_forked()
                self._channel, self._process, self.is_lost = self._make(), os.getpid(), False
            return self._channel

    def take(self) -> Optional[Any]:
        """The channel, to be closed; the next call makes another. None where this process has none."""
        with self._lock:
            channel, self._channel = self._channel, None
            return channel if self._process == os.getpid() else None

    def patience_s(self, left_s: float) -> float:
        """The other half of what is left until the deadline is for the call."""
        return min(left_s / 2, MAX_CONNECTION_WAIT_S)
