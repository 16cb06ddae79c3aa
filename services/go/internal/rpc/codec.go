package rpc

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// encoded is a message in its wire format.
type encoded []byte

// codec leaves the application's messages as they are on the wire; those of health and reflection are grpc-go's business.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal returns the wire format of a message.
func (c codec) Marshal(message any) (mem.BufferSlice, error) {
	if bytes, ok := message.(encoded); ok {
		return mem.BufferSlice{mem.SliceBuffer(bytes)}, nil
	}
	return c.CodecV2.Marshal(message)
}

// Unmarshal fills a message. The data are valid until it returns.
func (c codec) Unmarshal(data mem.BufferSlice, message any) error {
	if bytes, ok := message.(*encoded); ok {
		*bytes = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, message)
}
