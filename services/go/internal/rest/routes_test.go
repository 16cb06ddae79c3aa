package rest

import (
	"slices"
	"testing"

	"wirebench.dev/services/internal/operations"
)

var streamed = route{query: []string{"since", "rate_limit", "limit"}}

// Fields come in the order of the route, whatever that of the query; what isn't escaped as it should be is kept.
func TestParameters(t *testing.T) {
	type given = []operations.Given
	for query, expected := range map[string]given{
		"":                             nil,
		"&":                            nil,
		"limit=c&rate_limit=b&since=a": {{Name: "since", Value: "a"}, {Name: "rate_limit", Value: "b"}, {Name: "limit", Value: "c"}},
		"limit=1&limit=2":              {{Name: "limit", Value: "2"}},
		"limit":                        {{Name: "limit", Value: ""}},
		"%6Cimit=%31+1":                {{Name: "limit", Value: "1 1"}},
		"limit=%zz":                    {{Name: "limit", Value: "%zz"}},
		"limit=1;since=2":              {{Name: "limit", Value: "1;since=2"}},
	} {
		if actual, err := streamed.parameters(query); err != nil || !slices.Equal(expected, actual) {
			t.Errorf("%s: %v, %v", query, actual, err)
		}
	}
}

// Unknown fields are named once each, in the order of the query.
func TestUnknownParameters(t *testing.T) {
	_, err := streamed.parameters("z=1&limit=x&a=2&z=3&%zz")
	if err == nil || err.Message != "Unknown fields: z, a, %zz." {
		t.Error(err)
	}
}
