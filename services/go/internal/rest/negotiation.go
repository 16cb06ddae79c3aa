package rest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"wirebench.dev/services/internal/operations"
)

const (
	jsonType     = "application/json"
	protobufType = "application/x-protobuf"
)

var codecs = map[string]operations.EnvelopeCodec{
	// POST /api/users takes the user itself, and not a message that holds it.
	jsonType: operations.JSONEnvelope{
		JSON: operations.JSON{BodyFields: map[string]string{"users.create": "user"}},
	},
	protobufType: operations.ProtobufEnvelope{},
}

// exchange is what the headers of a request ask for.
type exchange struct {
	// Whether there is a codec for the body's media type.
	readable bool
	codec    operations.EnvelopeCodec
	// Of the reply.
	contentType string
}

// negotiate takes two headers; an empty text is one that is missing.
func negotiate(contentType, accept string) exchange {
	sent := cmp.Or(mediaType(contentType), jsonType)
	_, readable := codecs[sent]
	if !readable {
		sent = jsonType
	}
	wanted := preferred(accept, sent)
	if wanted == sent {
		return exchange{readable, codecs[sent], wanted}
	}
	return exchange{readable, operations.Translation{From: codecs[sent], To: codecs[wanted]}, wanted}
}

// mediaType returns a media type without its parameters.
func mediaType(text string) string {
	name, _, _ := strings.Cut(text, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// preferred returns the encoding that suits the client best: any means the one that it sent, none means JSON.
func preferred(accept, sent string) string {
	if strings.TrimSpace(accept) == "" || accept == "*/*" {
		return sent
	}
	ranges := strings.Split(accept, ",")
	// The client's order stays among ranges of equal quality.
	slices.SortStableFunc(ranges, func(a, b string) int { return cmp.Compare(quality(b), quality(a)) })
	for _, item := range ranges {
		wanted := mediaType(item)
		if quality(item) <= 0 {
			continue
		}
		if wanted == "*/*" || wanted == "application/*" {
			return sent
		}
		if _, ok := codecs[wanted]; ok {
			return wanted
		}
	}
	return jsonType
}

// quality returns the weight of a media range, `q` of RFC 9110, section 12.4.2; one that is no number counts as 0.
func quality(item string) float64 {
	for _, parameter := range strings.Split(item, ";")[1:] {
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0
			}
			return weight
		}
	}
	return 1
}
