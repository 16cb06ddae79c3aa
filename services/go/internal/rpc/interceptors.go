package rpc

import (
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

// operationOf returns the operation of a method, or nothing for health and reflection, which aren't counted.
func operationOf(method string) string {
	if operation, ok := operations[method]; ok {
		return operation
	}
	if strings.HasPrefix(method, "/grpc.") {
		return ""
	}
	return metrics.Unknown
}

// measureUnary counts calls with one reply.
func measureUnary(requests *metrics.Requests) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		operation := operationOf(info.FullMethod)
		if operation == "" {
			return handle(ctx, request)
		}
		begun := time.Now()
		response, err := handle(ctx, request)
		requests.Observe(operation, err, begun, size(request), size(response))
		return response, err
	}
}

// measureStream counts streams.
func measureStream(requests *metrics.Requests) grpc.StreamServerInterceptor {
	return func(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		operation := operationOf(info.FullMethod)
		if operation == "" {
			return handle(service, stream)
		}
		begun := time.Now()
		counted := &countedStream{ServerStream: stream}
		err := handle(service, counted)
		requests.Observe(operation, err, begun, counted.received, counted.sent)
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

// size returns the bytes of a message on the wire; an error has none.
func size(message any) int {
	if message, ok := message.(proto.Message); ok {
		return proto.Size(message)
	}
	return 0
}
