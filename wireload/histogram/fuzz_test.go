package histogram

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzFile reads any text as a histogram file.
func FuzzFile(f *testing.F) {
	fold := NewFold(Options{Window: time.Second})
	fold.Open(start)
	fold.Add(fold.Series("users.get", OK), Request{EndUnixNS: start, ServiceNS: 1000, DueUnixNS: start - 2000})
	made, err := fold.Report(Driver{}, time.Unix(0, start).Add(time.Minute), Counts{})
	if err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal(made)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		var read File
		if json.Unmarshal(text, &read) != nil {
			return
		}
		if merged, err := read.Merged("service"); err == nil && merged == nil {
			t.Error("want a histogram")
		}
	})
}
