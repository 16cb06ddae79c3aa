"""The application behind frames on a TCP socket: proto/socket.md."""
