package variable

import (
	"testing"
)

func TestWhatVariablesHoldIsHidden(t *testing.T) {
	clear(read)
	t.Setenv("OWN_TOKEN", `say "s3cret"`)
	t.Setenv("OWN_PART", "s3cret")
	t.Setenv("OWN_EMPTY", "")
	if got := Hide(`say "s3cret"`); got != `say "s3cret"` {
		t.Errorf("a variable that was not read is hidden: %s", got)
	}
	for _, name := range []string{"OWN_PART", "OWN_TOKEN", "OWN_EMPTY"} {
		if _, err := LookUp(name); err != nil {
			t.Fatal(err)
		}
	}
	got := Hide(`sent say "s3cret", {"was": "say \"s3cret\"", "part": "s3cret"}`)
	if want := `sent ${OWN_TOKEN}, {"was": "${OWN_TOKEN}", "part": "${OWN_PART}"}`; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}
