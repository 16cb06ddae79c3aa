// Package rpc serves the application over gRPC, on grpc-go.
package rpc

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"wirebench.dev/services/internal/application"
	"wirebench.dev/services/internal/codec"
	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/pb"
	"wirebench.dev/services/internal/settings"
)

// Server is a grpc.Server with its services.
type Server struct {
	grpc       *grpc.Server
	health     *health.Server
	requests   *metrics.Requests
	operations map[string]string // their names, by method
}

func New(config *settings.Settings, app *application.Application, requests *metrics.Requests) *Server {
	s := &Server{health: health.NewServer(), requests: requests, operations: map[string]string{}}
	for name, operation := range codec.Operations(app) {
		s.operations[operation.GRPCMethod] = name
	}
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(s.measureUnary),
		grpc.StreamInterceptor(s.measureStream),
		grpc.MaxRecvMsgSize(application.BodyBytesMax),
		grpc.ConnectionTimeout(config.ReadTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: config.IdleTimeout, MaxConnectionAge: config.MaxConnectionAge,
		}),
		// Clients that ping more often are disconnected; the default of 5 minutes would disconnect usual ones.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if config.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config.TLS)))
	}
	s.grpc = grpc.NewServer(options...)
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

func (s *Server) Serve(listener net.Listener) error { return s.grpc.Serve(listener) }

// Shutdown waits for calls in flight, or cancels them when the context ends.
func (s *Server) Shutdown(ctx context.Context) {
	s.health.Shutdown()
	stop := context.AfterFunc(ctx, s.grpc.Stop)
	defer stop()
	s.grpc.GracefulStop()
}

func (s *Server) measureUnary(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
) (any, error) {
	begun := time.Now()
	response, err := handle(ctx, request)
	s.count(info.FullMethod, err, begun)
	return response, err
}

func (s *Server) measureStream(
	service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler,
) error {
	begun := time.Now()
	err := handle(service, stream)
	s.count(info.FullMethod, err, begun)
	return err
}

// count counts a call of an operation: not of health and reflection.
func (s *Server) count(method string, err error, begun time.Time) {
	if operation, ok := s.operations[method]; ok {
		s.requests.Observe(operation, err, begun)
	}
}
