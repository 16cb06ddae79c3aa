// Package rpc serves the application over gRPC, on grpc-go.
package rpc

import (
	"cmp"
	"context"
	"math"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/settings"
)

// Clients that ping more often are disconnected. The default of 5 minutes would disconnect clients with usual settings.
const pingInterval = 10 * time.Second

// Server is a grpc.Server with its services.
type Server struct {
	grpc   *grpc.Server
	health *health.Server
}

// New returns a server; it serves nothing yet.
func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	s := &Server{grpc: grpc.NewServer(options(config, requests)...), health: health.NewServer()}
	pb.RegisterUserServiceServer(s.grpc, app.Users)
	pb.RegisterLedgerServiceServer(s.grpc, app.Ledger)
	pb.RegisterEchoServiceServer(s.grpc, app.Echo)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	grpc_health_v1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	return s
}

func options(config *settings.Settings, requests *metrics.Requests) []grpc.ServerOption {
	age := time.Duration(math.MaxInt64) // grpc-go's own default
	if config.MaxConnectionAge > 0 {
		age = config.MaxConnectionAge
	}
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(measureUnary(requests)),
		grpc.StreamInterceptor(measureStream(requests)),
		grpc.UnknownServiceHandler(rejectUnknown),
		grpc.MaxRecvMsgSize(config.BodyBytesMax),
		grpc.ConnectionTimeout(config.ReadTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: config.IdleTimeout, MaxConnectionAge: age}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingInterval, PermitWithoutStream: true}),
	}
	if config.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config.TLS)))
	}
	return options
}

// rejectUnknown answers methods that don't exist, so that the interceptor counts them.
func rejectUnknown(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	return application.Error(codes.Unimplemented, "Unknown method: %s.", method)
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(listener net.Listener) error { return s.grpc.Serve(listener) }

// Shutdown waits for calls in flight, or cancels them when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	s.health.Shutdown()
	stop := context.AfterFunc(ctx, s.grpc.Stop)
	defer stop()
	s.grpc.GracefulStop()
}

// The operation behind each method.
var operations = map[string]string{
	pb.UserService_CreateUser_FullMethodName:           "users.create",
	pb.UserService_GetUser_FullMethodName:              "users.get",
	pb.UserService_UpdateUser_FullMethodName:           "users.update",
	pb.UserService_DeleteUser_FullMethodName:           "users.delete",
	pb.UserService_ListUsers_FullMethodName:            "users.list",
	pb.UserService_CreateUserBatch_FullMethodName:      "users.create_batch",
	pb.LedgerService_GetBalance_FullMethodName:         "ledger.get_balance",
	pb.LedgerService_StreamTransactions_FullMethodName: "ledger.stream_transactions",
	pb.EchoService_Echo_FullMethodName:                 "echo.echo",
	pb.EchoService_Upper_FullMethodName:                "echo.upper",
}

// operationOf returns the operation of a method; health and reflection aren't counted.
func operationOf(method string) (operation string, counted bool) {
	return cmp.Or(operations[method], metrics.Unknown), !strings.HasPrefix(method, "/grpc.")
}

func measureUnary(requests *metrics.Requests) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		begun := time.Now()
		response, err := handle(ctx, request)
		if operation, counted := operationOf(info.FullMethod); counted {
			requests.Observe(operation, err, begun)
		}
		return response, err
	}
}

func measureStream(requests *metrics.Requests) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		begun := time.Now()
		err := handle(service, stream)
		if operation, counted := operationOf(info.FullMethod); counted {
			requests.Observe(operation, err, begun)
		}
		return err
	}
}
