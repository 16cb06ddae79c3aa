"""The built-in application and the Python variants that serve it."""


def format_address(host: str, port: int | None) -> str:
    """Return host:port, with the host of IPv6 in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
