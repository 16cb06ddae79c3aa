"""The application behind a plain TCP socket: proto/socket.md."""
