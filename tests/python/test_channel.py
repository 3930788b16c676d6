"""Which addresses are on this machine, and what a client is made of."""

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
