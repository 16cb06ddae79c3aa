package stream

import (
	"encoding/json"
	"net/url"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// The operation's names: as a method of the socket protocol, of gRPC, and as a REST path.
const (
	method     = "ledger.stream_transactions"
	grpcMethod = "/wirebench.v1.LedgerService/StreamTransactions"
	restPath   = "/transactions/stream"
)

// Numbers of fields in proto/wirebench/v1/ledger.proto.
const (
	requestRateLimitField = 2
	requestLimitField     = 3
	responseDataField     = 1
)

// request is a StreamTransactionsRequest; 0 is what isn't given.
type request struct {
	limit, rateLimit int64
}

func (r request) query() string {
	values := url.Values{}
	if r.limit != 0 {
		values.Set("limit", strconv.FormatInt(r.limit, 10))
	}
	if r.rateLimit != 0 {
		values.Set("rate_limit", strconv.FormatInt(r.rateLimit, 10))
	}
	return values.Encode()
}

func (r request) json() []byte {
	text, _ := json.Marshal(struct { // It can't fail: there are only integers.
		Limit     int64 `json:"limit,omitempty"`
		RateLimit int64 `json:"rate_limit,omitempty"`
	}{r.limit, r.rateLimit})
	return text
}

func (r request) protobuf() []byte {
	message := []byte{}
	if r.rateLimit != 0 {
		message = protowire.AppendTag(message, requestRateLimitField, protowire.VarintType)
		message = protowire.AppendVarint(message, uint64(r.rateLimit))
	}
	if r.limit != 0 {
		message = protowire.AppendTag(message, requestLimitField, protowire.VarintType)
		message = protowire.AppendVarint(message, uint64(r.limit))
	}
	return message
}
