package request

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"wirebench.dev/wireload/suggest"
)

var transports = []string{"rest", "grpc", "socket"}

// generators are the keys of an input that say what it is.
var generators = []string{
	"bytes", "counter", "created", "fresh", "list", "payload", "random_text", "range", "repeat", "seeded", "stream", "text", "value",
}

// These are the shapes of an application file and its parts; docs/applications.md describes them.
var (
	anything = &shape{}
	text     = &shape{is: isA[string], what: "text"}
	truth    = &shape{is: isA[bool], what: "true or false"}
	whole    = &shape{is: isWhole, what: "a whole number"}
	named    = regexp.MustCompile(`^[a-z_][a-zA-Z0-9_]*$`)

	applicationShape = &shape{required: []string{"operations"}, rule: checkReferences, keys: map[string]*shape{
		"application": matching(`[a-z][a-z0-9_-]{0,59}`, "a name of lower-case letters, digits, - and _"),
		"seeded":      {each: &shape{required: []string{"first", "count"}, keys: map[string]*shape{"first": whole, "count": from(1, 1<<62, "at least 1")}}},
		"operations":  {form: regexp.MustCompile(`^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$`), each: operationShape},
		"variants":    {form: regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`), each: variantShape},
	}}

	variantShape = &shape{required: []string{"transport"}, keys: map[string]*shape{
		"transport": matching(`rest|grpc|socket`, "one of rest, grpc, socket"),
		"headers":   {each: text},
		"schema":    {item: text},
		"imports":   {item: text},
		// These are the harness's, which checks them.
		"start": anything, "folder": anything, "environment": anything, "ready": anything, "ready_timeout_s": anything,
		"address": anything, "limit": anything, "kubernetes": anything, "tls": anything, "metrics": anything,
	}}

	operationShape = &shape{keys: map[string]*shape{
		"inputs":   {form: named, each: inputShape},
		"rest":     requestShapes["rest"],
		"grpc":     requestShapes["grpc"],
		"socket":   requestShapes["socket"],
		"variants": {each: &shape{rule: func(f field) { requestShapes[transportOf(f)].validate(f) }}},
		"same":     {item: &shape{each: text}},
		"stream":   truth,
		"writes":   truth,
	}}

	requestShapes = map[string]*shape{
		"rest": {required: []string{"request"}, keys: map[string]*shape{
			"request": matching(`(GET|POST|PUT|PATCH|DELETE) /([!-z|~]|\{\w+(\|[a-z0-9]+)?\}|\{\{\w+\}\})*`,
				"a method (GET, POST, PUT, PATCH or DELETE) and a path in ASCII without spaces, with braces around inputs alone"),
			"headers": {each: text},
			"body":    anything,
			"end":     matching(`\S{1,100}`, "the name of an event, without spaces"),
			"expect": {keys: map[string]*shape{
				"status": from(100, 599, "an HTTP status, from 100 to 599"), "json": {each: anything}, "contains": text,
			}},
		}},
		"grpc": {required: []string{"call"}, keys: map[string]*shape{
			"call":     matching(`[\w.]+/\w+`, "package.Service/Method"),
			"metadata": {each: text},
			"message":  anything,
			"expect":   {each: anything},
		}},
		"socket": {rule: checkSocket, keys: map[string]*shape{
			"method":   matching(`[!-~]{1,255}`, "1 to 255 ASCII characters"),
			"body":     anything,
			"expect":   {each: anything},
			"line":     matching(`[^\r\n]+`, "one line"),
			"contains": text,
		}},
	}

	inputShape = &shape{rule: checkInput, keys: map[string]*shape{
		"seeded": text, "fresh": text, "created": text, "counter": whole,
		"range":   {is: isRange, what: "two whole numbers, the lower first and less than 2⁶³ before the other"},
		"list":    {is: isChoice, what: "a list of values, none of them null"},
		"text":    anything,
		"bytes":   anything,
		"payload": {form: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`), each: anything},
		"stream":  matching(`items|rate_limit_per_s`, "one of items, rate_limit_per_s"),
		"repeat":  anything, "value": anything, "random_text": anything,

		"max": whole, "offset": whole, "count": anything, "counting": text,
	}}
)

func init() { inputShape.keys["of"] = inputShape }

func isA[T any](value any) bool {
	_, is := value.(T)
	return is
}

func isWhole(value any) bool {
	number, _ := value.(json.Number)
	_, err := number.Int64()
	return err == nil
}

func isRange(value any) bool {
	ends, _ := value.([]any)
	if len(ends) != 2 || !isWhole(ends[0]) || !isWhole(ends[1]) {
		return false
	}
	low, high := wholeOf(ends[0]), wholeOf(ends[1])
	return low <= high && high-low+1 > 0
}

// isChoice wants no null: a field that is null in some requests would have to be left out of those.
func isChoice(value any) bool {
	choices, _ := value.([]any)
	return len(choices) > 0 && !slices.Contains(choices, nil)
}

// matching is the shape of a text of a form.
func matching(form, what string) *shape {
	compiled := regexp.MustCompile("^(?:" + form + ")$")
	return &shape{what: what, is: func(value any) bool {
		text, isText := value.(string)
		return isText && compiled.MatchString(text)
	}}
}

// from is the shape of a whole number from low to high.
func from(low, high int64, what string) *shape {
	return &shape{what: what, is: func(value any) bool {
		return isWhole(value) && low <= wholeOf(value) && wholeOf(value) <= high
	}}
}

func checkSocket(f field) {
	if (f.text("line") == "") == (f.text("method") == "") {
		f.fail("needs either method or line")
	}
}

func checkInput(f field) {
	found, of := names(generatorsOf(f)), f.get("of")
	switch {
	case len(found) != 1:
		f.fail("needs exactly one of %s", strings.Join(generators, ", "))
	case found[0] == "payload" && len(f.get("payload").each()) == 0:
		f.get("payload").fail("needs at least one choice")
	case found[0] == "repeat" && of.value == nil:
		f.fail("repeat needs `of`: what is repeated")
	case of.get("fresh").value != nil || of.get("created").value != nil:
		of.fail("fresh and created can't be repeated: make it an input, and name that in counting")
	}
}

// generatorsOf returns what an input has of the generators: one, if it is valid.
func generatorsOf(in field) []field {
	return slices.DeleteFunc(in.each(), func(each field) bool {
		return !slices.Contains(generators, each.name) || each.value == nil && each.name != "value"
	})
}

// checkReferences checks what operations have of other parts of the file.
func checkReferences(root field) {
	variants := root.get("variants")
	for _, o := range root.get("operations").each() {
		answered := names(o.each())
		for _, own := range o.get("variants").each() {
			transport, found := transportOf(own), variants.get(own.name)
			answered = append(answered, transport)
			switch wanted := found.text("transport"); {
			case found.value == nil:
				own.fail("there is no variant %q; %s", own.name, suggest.Name(own.name, names(variants.each())))
			case wanted != "" && wanted != transport:
				own.fail("needs a %s request, which the variant has", wanted)
			}
		}
		for _, paths := range o.list("same") {
			for _, each := range paths.each() {
				if !slices.Contains(answered, each.name) {
					paths.fail("there is no %s request", each.name)
				}
			}
		}
	}
}

// transportOf returns the transport of a variant's request, by what it has.
func transportOf(request field) string {
	switch {
	case request.get("request").value != nil:
		return "rest"
	case request.get("call").value != nil:
		return "grpc"
	}
	return "socket"
}
