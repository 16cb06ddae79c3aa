package request

import (
	"fmt"

	"wirebench.dev/wireload/contract"
	"wirebench.dev/wireload/suggest"
)

// Application is what an application file describes, as one of its variants gets it.
type Application struct {
	*document
	root, variant field
	schema        *contract.Schema
}

// Load reads an application file, as one of its variants gets it, and the variant's messages: a FileDescriptorSet, which
// only loads in protobuf need. An application without variants is read with an empty name. Errors name line and key.
func Load(path, variantName string, descriptors []byte) (*Application, error) {
	text, err := contract.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text, variantName, descriptors)
}

// Parse is the part of Load behind reading the file.
func Parse(path string, text []byte, variantName string, descriptors []byte) (*Application, error) {
	a := parseApplication(path, text)
	if err := a.err(); err != nil {
		return nil, err
	}
	if variantName != "" {
		if a.variant = a.root.get("variants").get(variantName); a.variant.value == nil {
			return nil, fmt.Errorf("%s: there is no variant %q; %s", path, variantName, suggest.Name(variantName, names(a.root.get("variants").each())))
		}
	}
	var err error
	if a.schema, err = contract.Parse(descriptors); err != nil {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	return a, nil
}

// parseApplication returns what can be read of an application, and keeps its mistakes.
func parseApplication(path string, text []byte) *Application {
	a := &Application{document: &document{path: path}}
	if value := a.parse(text); len(a.mistakes) == 0 {
		a.root = field{document: a.document, value: value}
		applicationShape.validate(a.root)
	}
	return a
}

func (a *Application) operations() []field { return a.root.get("operations").each() }

// request returns an operation's request on a transport: the variant's own, or that of the transport.
func (a *Application) request(o field, transport string) field {
	if own := o.get("variants").get(a.variant.name); own.value != nil && transportOf(own) == transport {
		return own
	}
	return o.get(transport)
}
