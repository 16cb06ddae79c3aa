package rpc

import (
	"cmp"
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"wirebench.dev/services/internal/metrics"
	"wirebench.dev/services/internal/pb"
)

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
		sent := 0
		if err == nil {
			sent = size(response)
		}
		if operation, counted := operationOf(info.FullMethod); counted {
			requests.Observe(operation, err, begun, size(request), sent)
		}
		return response, err
	}
}

func measureStream(requests *metrics.Requests) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		begun := time.Now()
		bytes := &countedStream{ServerStream: stream}
		err := handle(service, bytes)
		if operation, counted := operationOf(info.FullMethod); counted {
			requests.Observe(operation, err, begun, bytes.received, bytes.sent)
		}
		return err
	}
}

type countedStream struct {
	grpc.ServerStream
	received, sent int
}

// RecvMsg counts a message of the client.
func (s *countedStream) RecvMsg(message any) error {
	err := s.ServerStream.RecvMsg(message)
	s.received += size(message)
	return err
}

// SendMsg counts a message to the client.
func (s *countedStream) SendMsg(message any) error {
	s.sent += size(message)
	return s.ServerStream.SendMsg(message)
}

func size(message any) int { return proto.Size(message.(proto.Message)) }
