package main

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

const message = "User retrieved successfully"

// appendUser appends the JSON of the user with an id.
func appendUser(dst []byte, id int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"id":`...), id, 10)
	dst = strconv.AppendInt(append(dst, `,"name":"User `...), id, 10)
	dst = strconv.AppendInt(append(dst, `","email":"user`...), id, 10)
	return append(dst, `@example.com"}`...)
}

// appendEnvelope appends the JSON reply of the REST API.
func appendEnvelope(dst []byte, id int64) []byte {
	dst = appendUser(append(dst, `{"success":true,"data":`...), id)
	return append(dst, `,"message":"`+message+`"}`...)
}

// appendResponse appends a wirebench.v1.GetUserResponse.
func appendResponse(dst []byte, id int64) []byte {
	digits := strconv.FormatInt(id, 10)
	user := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(id))
	user = protowire.AppendString(protowire.AppendTag(user, 2, protowire.BytesType), "User "+digits)
	user = protowire.AppendString(protowire.AppendTag(user, 3, protowire.BytesType), "user"+digits+"@example.com")
	dst = protowire.AppendVarint(protowire.AppendTag(dst, 1, protowire.VarintType), 1)
	dst = protowire.AppendString(protowire.AppendTag(dst, 2, protowire.BytesType), message)
	return protowire.AppendBytes(protowire.AppendTag(dst, 3, protowire.BytesType), user)
}

// idOf returns the id of a wirebench.v1.GetUserRequest, 0 if there is none.
func idOf(request []byte) int64 {
	number, kind, tag := protowire.ConsumeTag(request)
	if tag < 0 || number != 1 || kind != protowire.VarintType {
		return 0
	}
	id, _ := protowire.ConsumeVarint(request[tag:])
	return int64(id)
}
