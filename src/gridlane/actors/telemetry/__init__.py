"""Telemetry of a runtime: latencies, a live view, Prometheus, traces of messages."""
