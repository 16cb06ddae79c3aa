package rest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"wirebench.dev/services/internal/domain"
	"wirebench.dev/services/internal/operations"
)

// route is one method of one path, and the operation behind it. Names in braces are fields of the operation, as are the
// parameters of the query; all are integers.
type route struct {
	method, path, operation string
	status                  int
	query                   []string
}

var routes = []route{
	{method: http.MethodGet, path: "/api/users", operation: "users.list", query: []string{"limit", "after_id"}},
	{method: http.MethodPost, path: "/api/users", operation: "users.create", status: http.StatusCreated},
	{method: http.MethodPost, path: "/api/users/batch", operation: "users.create_batch", status: http.StatusCreated},
	{method: http.MethodGet, path: "/api/users/{id}", operation: "users.get"},
	{method: http.MethodPut, path: "/api/users/{id}", operation: "users.update"},
	{method: http.MethodDelete, path: "/api/users/{id}", operation: "users.delete"},
	{method: http.MethodGet, path: "/accounts/{account_id}/balance", operation: "ledger.get_balance"},
	{
		method: http.MethodGet, path: "/transactions/stream", operation: operations.StreamTransactions.Name,
		query: []string{"since", "rate_limit", "limit"},
	},
	{method: http.MethodPost, path: "/echo", operation: "echo.echo"},
	{method: http.MethodPost, path: "/upper", operation: "echo.upper"},
}

// parameters returns the fields that a query gives, in the order of the route, which is the proto's: of several wrong ones
// every service names the same.
func (r route) parameters(query string) ([]operations.Given, *domain.Error) {
	if query == "" {
		return nil, nil
	}
	values := make(map[string]string)
	var unknown []string
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		name = unescaped(name)
		if _, again := values[name]; !again && !slices.Contains(r.query, name) {
			unknown = append(unknown, name)
		}
		values[name] = unescaped(text) // of names that stand twice the last one counts
	}
	if unknown != nil {
		return nil, domain.Errorf(domain.InvalidArgument, "Unknown fields: %s.", strings.Join(unknown, ", "))
	}
	var given []operations.Given
	for _, name := range r.query {
		if text, ok := values[name]; ok {
			given = append(given, operations.Given{Name: name, Value: text})
		}
	}
	return given, nil
}

// unescaped decodes what a query holds. What isn't escaped as it should be is left as it is, and is no field's name or
// integer.
func unescaped(text string) string {
	if decoded, err := url.QueryUnescape(text); err == nil {
		return decoded
	}
	return text
}

// endpoint is a path and its routes by method.
type endpoint struct {
	path   string
	parts  []string
	routes map[string]route
	allow  string
}

// endpoints finds the endpoint of a path. http.ServeMux would clean paths first, and redirect: //api/users isn't there.
type endpoints struct {
	fixed     map[string]*endpoint
	templates []*endpoint
}

func newEndpoints(routes []route) *endpoints {
	all := &endpoints{fixed: make(map[string]*endpoint)}
	byPath := make(map[string]*endpoint)
	for _, each := range routes {
		found := byPath[each.path]
		if found == nil {
			found = &endpoint{path: each.path, parts: strings.Split(each.path, "/"), routes: make(map[string]route)}
			byPath[each.path] = found
			if strings.Contains(each.path, "{") {
				all.templates = append(all.templates, found)
			} else {
				all.fixed[each.path] = found
			}
		}
		found.routes[each.method] = each
	}
	for _, each := range byPath {
		if get, ok := each.routes[http.MethodGet]; ok {
			each.routes[http.MethodHead] = get // the server leaves out the body
		}
		each.allow = strings.Join(slices.Sorted(maps.Keys(each.routes)), ", ")
	}
	return all
}

// find returns the endpoint of a path, or nil, and the fields that the path gives.
func (e *endpoints) find(path string) (*endpoint, []operations.Given) {
	if found, ok := e.fixed[path]; ok {
		return found, nil
	}
	parts := strings.Split(path, "/")
	for _, each := range e.templates {
		if given, ok := each.match(parts); ok {
			return each, given
		}
	}
	return nil, nil
}

func (e *endpoint) match(parts []string) (given []operations.Given, ok bool) {
	if len(parts) != len(e.parts) {
		return nil, false
	}
	for i, part := range e.parts {
		if strings.HasPrefix(part, "{") && parts[i] != "" {
			given = append(given, operations.Given{Name: strings.Trim(part, "{}"), Value: parts[i]})
		} else if part != parts[i] {
			return nil, false
		}
	}
	return given, true
}
