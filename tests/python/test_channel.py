"""Which addresses are on this machine, and what a client is made of."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from interlacer_client import Client, InterlacerError
from interlacer_client.channel import is_loopback


@pytest.mark.parametrize("address", [
    "localhost:1", "127.0.0.1:50051", "127.8.9.1:1", "[::1]:1", "dns:///localhost:1", "dns:localhost:1", "ipv4:127.0.0.1:1",
    "ipv6:[::1]:1", "unix:/run/interlacer.sock", "unix:///run/interlacer.sock", "unix-abstract:name"])
def test_addresses_of_this_machine(address):
    assert is_loopback(address)


@pytest.mark.parametrize("address", [
    "192.168.0.1:1", "localhost.example.org:1", "example.org:127", "[fe80::1]:1", "dns:///robot:50051", "ipv4:10.0.0.1:1",
    "127.0.0.1.example.org:1", "1270.0.0.1:1"])
def test_other_addresses(address):
    assert not is_loopback(address)


def test_an_address_is_needed():
    with pytest.raises(InterlacerError, match="address"):
        Client("")


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
