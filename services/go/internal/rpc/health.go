package rpc

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// healthService is gRPC's own, but its watches end when the service stops, which would wait for them. What is served is
// served until then, so that a watch has nothing else to wait for.
type healthService struct {
	*health.Server
	stopping chan struct{}
	once     sync.Once
}

func newHealthService() *healthService {
	return &healthService{Server: health.NewServer(), stopping: make(chan struct{})}
}

// stop tells clients that nothing is served any more, and ends their watches.
func (h *healthService) stop() {
	h.once.Do(func() {
		h.Shutdown()
		close(h.stopping)
	})
}

// Watch tells a client of each change.
func (h *healthService) Watch(
	request *grpc_health_v1.HealthCheckRequest, stream grpc_health_v1.Health_WatchServer,
) error {
	now, err := h.Check(stream.Context(), request)
	if status.Code(err) == codes.NotFound {
		now = &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN}
	} else if err != nil {
		return err
	}
	if err := stream.Send(now); err != nil {
		return err
	}
	select {
	case <-stream.Context().Done():
		return status.FromContextError(stream.Context().Err()).Err()
	case <-h.stopping:
	}
	if now.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return nil
	}
	return stream.Send(&grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING})
}
