"""The demo: a scripted provider and the proxy on loopback, without a key and without a network."""
