// Package vutest has VUs of k6 for the tests of modules.
package vutest

import (
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/grafana/sobek"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/fsext"
	"go.k6.io/k6/lib/netext"
	"go.k6.io/k6/metrics"
)

// User is a VU: it runs lines of JavaScript, and Samples gets what they measured.
type User struct {
	*modulestest.Runtime
	Samples chan metrics.SampleContainer
	Dialer  *netext.Dialer
	t       testing.TB
}

// NewInit returns a VU in the init context, whose scripts are in k6/ and have a module under this name.
func NewInit(t testing.TB, name string, module modules.Module) *User {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	runtime := modulestest.NewRuntime(t)
	runtime.VU.InitEnvField.FileSystems = map[string]fsext.Fs{"file": fsext.NewOsFs()}
	runtime.VU.InitEnvField.CWD = &url.URL{Scheme: "file", Path: root}
	if err := runtime.VU.RuntimeField.Set(name, module.NewModuleInstance(runtime.VU).Exports().Default); err != nil {
		t.Fatal(err)
	}
	return &User{runtime, make(chan metrics.SampleContainer, 10_000), netext.NewDialer(net.Dialer{}, nil), t}
}

// New returns a VU that has run JavaScript of the init context, and is ready for VU code.
func New(t testing.TB, name string, module modules.Module, init string) *User {
	t.Helper()
	v := NewInit(t, name, module)
	v.Run(init)
	transport := &http.Transport{DialContext: v.Dialer.DialContext, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	v.VU.StateField = &lib.State{
		Options:   lib.Options{SystemTags: metrics.NewSystemTagSet(metrics.TagName, metrics.TagStatus)},
		Tags:      lib.NewVUStateTags(v.VU.InitEnvField.Registry.RootTagSet()),
		Samples:   v.Samples,
		Dialer:    v.Dialer,
		Transport: transport,
	}
	v.VU.InitEnvField = nil
	return v
}

// Run returns the value of the last expression.
func (v *User) Run(script string) sobek.Value {
	v.t.Helper()
	value, err := v.VU.RuntimeField.RunString(script)
	if err != nil {
		v.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// Throws returns the message that running the script throws.
func (v *User) Throws(script string) string {
	v.t.Helper()
	_, err := v.VU.RuntimeField.RunString(script)
	if err == nil {
		v.t.Fatalf("%s: did not throw", script)
	}
	return err.Error()
}
