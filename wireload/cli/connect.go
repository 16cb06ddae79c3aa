package cli

import (
	"strings"

	"wirebench.dev/wireload/engine"
	"wirebench.dev/wireload/secure"
	"wirebench.dev/wireload/transport"
	"wirebench.dev/wireload/transport/grpc"
	"wirebench.dev/wireload/transport/rest"
	"wirebench.dev/wireload/transport/socket"
)

// connect has a load use the job's transport; lines are sent on the socket without frames.
func (j *Job) connect(load *engine.Load, lines bool) (err error) {
	if err := j.validateConnections(load.Users); err != nil {
		return err
	}
	load.Connections = j.Connections
	switch isProtobuf := j.Requests.Codec == "protobuf"; {
	case j.H2C:
		load.NewClient = func(address string) transport.Client { return rest.NewH2C(j.nameHost(address)) }
	case j.Requests.Transport == "rest":
		load.NewClient = func(address string) transport.Client { return rest.New(j.nameHost(address), j.Reopen) }
	case j.Requests.Transport == "grpc":
		load.NewClient = func(address string) transport.Client { return grpc.New(address, j.TLS != nil, load.Timeout) }
	case lines:
		load.NewClient = func(string) transport.Client { return socket.NewLine() }
	default:
		load.NewClient = func(string) transport.Client { return socket.New(isProtobuf) }
	}
	if j.TLS != nil {
		load.TLS, err = secure.NewConfig(j.TLS.Authority, j.Requests.Transport == "grpc")
	}
	return err
}

func (j *Job) validateConnections(users int) error {
	isREST := j.Requests.Transport == "rest"
	switch {
	case !isREST && j.Requests.Transport != "grpc" && j.Requests.Transport != "socket":
		return newUsageError("transport must be rest, grpc or socket, not %q", j.Requests.Transport)
	case j.H2C && (!isREST || j.TLS != nil):
		return newUsageError("h2c is for rest, and without TLS")
	case j.Connections == 0:
	case j.Connections < 0 || j.Connections > users:
		return newUsageError("connections must be from 1 to the %d users", users)
	case j.Requests.Transport != "grpc" && !j.H2C:
		return newUsageError("connections are shared over grpc and h2c: HTTP/1.1 and the socket have one request at a time on each")
	case j.Reopen:
		return newUsageError("connections that are shared exclude reopen")
	}
	return nil
}

// nameHost returns an address as clients name it to the service: without the port that the scheme stands for.
func (j *Job) nameHost(address string) string {
	return strings.TrimSuffix(address, map[bool]string{false: ":80", true: ":443"}[j.TLS != nil])
}
