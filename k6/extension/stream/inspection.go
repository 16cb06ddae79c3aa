package stream

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protowire"
)

// inspection counts a stream's items. Of a stream that is to be checked it also looks at the first and
// the last: the ledger's ids have no gaps, so that these two and the number tell of items left out.
type inspection struct {
	asked  task
	binary bool
	count  int64
	first  transaction
	last   []byte
}

// transaction is what is looked at of a Transaction.
type transaction struct {
	ID        int64 `json:"id"`
	Time      int64 `json:"time"`
	Reference string
}

// Numbers of fields in proto/wirebench/v1/ledger.proto.
const (
	transactionIDField        = 1
	transactionTimeField      = 2
	transactionReferenceField = 7
)

func newInspection(asked task, binary bool) *inspection {
	return &inspection{asked: asked, binary: binary}
}

func (i *inspection) take(item []byte) {
	i.count++
	if !i.asked.check {
		return
	}
	if i.count == 1 {
		i.first, _ = i.decode(item)
	}
	i.last = append(i.last[:0], item...)
}

// right is whether a stream that came to its end had the items that it should.
func (i *inspection) right() bool {
	if i.asked.limit > 0 && i.count != i.asked.limit {
		return false
	}
	if !i.asked.check || i.count == 0 {
		return true
	}
	last, decoded := i.decode(i.last)
	whole := i.first.Reference != "" && last.Reference != "" && i.first.Time > 0
	return decoded && whole && i.first.ID > 0 && last.ID-i.first.ID == i.count-1 && last.Time >= i.first.Time
}

func (i *inspection) decode(item []byte) (transaction, bool) {
	if i.binary {
		return decodeResponse(item)
	}
	var decoded transaction
	err := json.Unmarshal(item, &decoded)
	return decoded, err == nil
}

// decodeResponse takes a StreamTransactionsResponse apart.
func decodeResponse(message []byte) (transaction, bool) {
	var decoded transaction
	var inner []byte
	well := eachField(message, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number == responseDataField && kind == protowire.BytesType {
			inner, _ = protowire.ConsumeBytes(value)
		}
	})
	return decoded, well && eachField(inner, func(number protowire.Number, kind protowire.Type, value []byte) {
		switch {
		case number == transactionIDField && kind == protowire.VarintType:
			id, _ := protowire.ConsumeVarint(value)
			decoded.ID = int64(id)
		case number == transactionTimeField && kind == protowire.VarintType:
			at, _ := protowire.ConsumeVarint(value)
			decoded.Time = int64(at)
		case number == transactionReferenceField && kind == protowire.BytesType:
			decoded.Reference, _ = protowire.ConsumeString(value)
		}
	})
}

// eachField calls take with each field of a message; it returns whether the message is whole.
func eachField(message []byte, take func(protowire.Number, protowire.Type, []byte)) bool {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return false
		}
		value := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if value < 0 {
			return false
		}
		take(number, kind, message[tag:tag+value])
		message = message[tag+value:]
	}
	return true
}
