"""Which addresses are on this machine, and what a client is made of."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from interlacer_client import Client, InterlacerError
from interlacer_client.channel import check_address, is_loopback, proxy_for


@pytest.mark.parametrize("address", [
    "localhost:1", "127.0.0.1:50051", "127.8.9.1:1", "[::1]:1", "dns:///localhost:1", "dns:localhost:1", "ipv4:127.0.0.1:1",
    "ipv6:[::1]:1", "0.0.0.0:1", "[::]:1", "unix:/run/interlacer.sock", "unix:///run/interlacer.sock", "unix-abstract:name"])
def test_addresses_of_this_machine(address):
    assert is_loopback(address)


@pytest.mark.parametrize("address", [
    "192.168.0.1:1", "localhost.example.org:1", "example.org:127", "[fe80::1]:1", "dns:///robot:50051", "ipv4:10.0.0.1:1",
    "127.0.0.1.example.org:1", "1270.0.0.1:1"])
def test_other_addresses(address):
    assert not is_loopback(address)


def test_a_proxy_in_the_way_is_named_and_its_value_is_not(monkeypatch):
    for name in ("grpc_proxy", "https_proxy", "no_grpc_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://user:secret@127.0.0.1:9")
    with Client("192.0.2.1:50051", retry=False, wait_for_ready=False) as client:  # an address of no one
        with pytest.raises(InterlacerError) as caught:
            client.info(deadline_s=5)
    assert "http_proxy" in caught.value.message and "no_proxy" in caught.value.message
    assert "secret" not in str(caught.value)
    assert proxy_for("127.0.0.1:1") == "" and proxy_for("robot.lab:1") == "http_proxy"
    monkeypatch.setenv("no_proxy", "example.org, .LAB")
    assert proxy_for("robot.lab:1") == "" and proxy_for("dns:///robot.lab:1") == "" and proxy_for("robot:1") == "http_proxy"


@pytest.mark.parametrize("address", [
    "localhost:50051", "127.0.0.1:1", "robot-1.lab:65535", "my_host:1", "[::1]:58321", "[fe80::1%eth0]:1", "dns:robot:1",
    "dns:///robot:1", "dns://8.8.8.8/robot:1", "ipv4:10.0.0.1:1", "ipv4:10.0.0.1:1,10.0.0.2:1", "ipv6:[::1]:1",
    "unix:/run/a.sock", "unix:///run/a.sock", "unix-abstract:name"])
def test_addresses_of_every_form_are_taken(address):
    check_address(address)


@pytest.mark.parametrize("address", [
    "", "localhost", "localhost:", ":50051", "localhost:99999", "localhost:0", "localhost:00", "localhost:grpc", "localhost:-1",
    "localhost:1 ", " localhost:1", "my host:1", "[::1]", "[::1]:", "::1:58321", "[localhost]:1", "[]:1", "http://127.0.0.1:1",
    "https://a:1", "grpc://a:1", "dns:///robot", "dns://robot:1", "ipv4:10.0.0.1:1,10.0.0.2", "a:1,b:1", "user@host:1", "unix:",
    "unix-abstract:", "unix:/" + "x" * 107])
def test_addresses_that_grpc_would_read_in_its_own_way_are_refused(address):
    with pytest.raises(InterlacerError, match="address") as caught:
        Client(address)
    assert (caught.value.reason, caught.value.field) == ("ARGUMENT_INVALID", "address")


def test_credentials_encrypt_the_connection(tmp_path):
    """A server with TLS and without methods: who gets through to it hears UNIMPLEMENTED."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key.pem",
                    "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    certificate, key = (tmp_path / "cert.pem").read_bytes(), (tmp_path / "key.pem").read_bytes()
    server = grpc.server(ThreadPoolExecutor(1))
    credentials = grpc.ssl_server_credentials([(key, certificate)], certificate, require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    codes = []
    for ours in (grpc.ssl_channel_credentials(certificate, key, certificate), grpc.ssl_channel_credentials(certificate), None):
        with pytest.raises(InterlacerError) as error:
            Client(f"127.0.0.1:{port}", retry=False, credentials=ours).info()
        codes.append(error.value.code)
    server.stop(0)
    assert codes == ["UNIMPLEMENTED", "UNAVAILABLE", "UNAVAILABLE"]
