"""The HTTP edge: reads a request, calls the service once, shapes the answer."""
