"""What a runtime tells of itself: latencies, a live view, Prometheus, traces of messages."""
