// Package rpc is the application behind gRPC, on grpc-go.
package rpc

import (
	"context"
	"math"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/platform"
)

// Defaults are those of the transport; grpc-go itself sees to ALPN.
var Defaults = platform.Defaults{Transport: "grpc", Port: 50051, Runtime: "grpc-go"}

// More often than this no client may ask whether the server is there.
const pingIntervalLeast = 10 * time.Second

// The services of the proto files: their files, and the operation behind each of their methods.
var services = []struct {
	name, file string
	methods    map[string]string
}{
	{"wirebench.v1.UserService", pb.File_wirebench_v1_users_proto.Path(), map[string]string{
		"CreateUser": "users.create", "GetUser": "users.get", "UpdateUser": "users.update",
		"DeleteUser": "users.delete", "ListUsers": "users.list", "CreateUserBatch": "users.create_batch",
	}},
	{"wirebench.v1.LedgerService", pb.File_wirebench_v1_ledger_proto.Path(), map[string]string{
		"GetBalance": "ledger.get_balance", "StreamTransactions": operations.StreamTransactions.Name,
	}},
	{"wirebench.v1.EchoService", pb.File_wirebench_v1_echo_proto.Path(), map[string]string{
		"Echo": "echo.echo", "Upper": "echo.upper",
	}},
}

var statuses = map[domain.Code]codes.Code{
	domain.InvalidArgument:   codes.InvalidArgument,
	domain.NotFound:          codes.NotFound,
	domain.AlreadyExists:     codes.AlreadyExists,
	domain.ResourceExhausted: codes.ResourceExhausted,
	domain.Unimplemented:     codes.Unimplemented,
	domain.DeadlineExceeded:  codes.DeadlineExceeded,
	domain.Unavailable:       codes.Unavailable,
	domain.Internal:          codes.Internal,
	domain.Cancelled:         codes.Canceled,
}

// Server answers calls.
type Server struct {
	worker   *platform.Worker
	grpc     *grpc.Server
	health   *healthService
	openings *openings
}

// New returns a server; it serves nothing yet.
func New(worker *platform.Worker) platform.Server {
	of := insecure.NewCredentials()
	if worker.Settings.TLS != nil {
		of = credentials.NewTLS(worker.Settings.TLS)
	}
	s := &Server{worker: worker, health: newHealthService(), openings: newOpenings(of)}
	s.grpc = grpc.NewServer(
		append(options(worker.Settings), grpc.UnknownServiceHandler(s.refuseUnknown), grpc.Creds(s.openings))...)
	for _, each := range services {
		description := &grpc.ServiceDesc{ServiceName: each.name, HandlerType: (*any)(nil), Metadata: each.file}
		for method, name := range each.methods {
			if operation, ok := operations.ByName[name]; ok {
				unary := grpc.MethodDesc{MethodName: method, Handler: s.handler(operation)}
				description.Methods = append(description.Methods, unary)
			} else {
				stream := grpc.StreamDesc{StreamName: method, Handler: s.stream, ServerStreams: true}
				description.Streams = append(description.Streams, stream)
			}
		}
		s.grpc.RegisterService(description, nil)
		s.health.SetServingStatus(each.name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	return s
}

// Serve takes connections until Shutdown is called.
func (s *Server) Serve(listener net.Listener) error { return s.grpc.Serve(listener) }

// Shutdown ends health watches and what clients haven't opened, sends GOAWAY, and finishes the calls that have begun.
func (s *Server) Shutdown(ctx context.Context) {
	s.health.stop()
	s.openings.stop()
	finished := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(finished)
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		s.grpc.Stop()
	}
}

func options(settings *platform.Settings) []grpc.ServerOption {
	age := time.Duration(math.MaxInt64)
	if settings.MaxConnectionAge > 0 {
		age = settings.MaxConnectionAge
	}
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(settings.BodyBytesMax),
		grpc.MaxSendMsgSize(math.MaxInt32),
		// A client that connects and says nothing.
		grpc.ConnectionTimeout(settings.ReadTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: settings.IdleTimeout,
			// Clients are told in time, and no call is lost.
			MaxConnectionAge: age,
			// A client that is gone without a word, maybe half-way through a request.
			Time:    settings.ReadTimeout,
			Timeout: settings.ReadTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingIntervalLeast, PermitWithoutStream: true}),
	}
}

// handler returns what carries out the calls of a method. Requests reach it undecoded, so that bytes that are no message
// get the contract's answer and not the library's, and sizes are known.
func (s *Server) handler(operation *operations.Operation) grpc.MethodHandler {
	return func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var request encoded
		if err := decode(&request); err != nil {
			return nil, err
		}
		begun := s.worker.Recorder.Started()
		outcome := operation.Run(s.worker.Application, operations.ProtobufEnvelope{}, request)
		s.worker.Recorder.Finished(operation.Name, outcome.Code, begun, len(request), len(outcome.Body))
		if outcome.Code != domain.OK {
			return nil, status.Error(statuses[outcome.Code], outcome.Message)
		}
		return encoded(outcome.Body), nil
	}
}

// stream answers a call with transactions.
func (s *Server) stream(_ any, call grpc.ServerStream) error {
	var request encoded
	if err := call.RecvMsg(&request); err != nil {
		return err
	}
	begun := s.worker.Recorder.Started()
	// What a stream comes to is said by its status, and not by each of its messages.
	codec := operations.Protobuf{}
	sink := &callSink{call: call}
	stream, refused := operations.OpenTransactions(s.worker.Application, codec, codec, request)
	var outcome operations.Outcome
	if refused != nil {
		outcome = operations.Refusal(refused)
	} else {
		outcome = stream.Run(call.Context(), s.worker.Stopping, sink)
	}
	s.worker.Recorder.Finished(
		operations.StreamTransactions.Name, outcome.Code, begun, len(request), sink.sentBytes)
	if outcome.Code != domain.OK {
		return status.Error(statuses[outcome.Code], outcome.Message)
	}
	return nil
}

// callSink sends items as messages; gRPC's flow control has it wait for a client that doesn't read.
type callSink struct {
	call      grpc.ServerStream
	sentBytes int
}

// Send takes an item.
func (c *callSink) Send(_ int32, item []byte) error {
	c.sentBytes += len(item)
	return c.call.SendMsg(encoded(item))
}

// Flush does nothing: gRPC itself sees to that.
func (c *callSink) Flush() error { return nil }

// refuseUnknown answers every call of a method that isn't there.
func (s *Server) refuseUnknown(_ any, stream grpc.ServerStream) error {
	begun := s.worker.Recorder.Started()
	method, _ := grpc.MethodFromServerStream(stream)
	err := domain.Errorf(domain.Unimplemented, "Unknown method: %s.", method)
	s.worker.Recorder.Finished(platform.Unknown, err.Code, begun, 0, 0)
	return status.Error(statuses[err.Code], err.Message)
}
