package variable

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatVariablesHoldIsHidden(t *testing.T) {
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

func TestATextOfAServiceIsCleaned(t *testing.T) {
	t.Setenv("LONG_TOKEN", "tok\x1b\"en-of-20-chars")
	secret, err := LookUp("LONG_TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	for offset := range textBytesMax + 10 {
		for _, repeated := range []string{secret, fmt.Sprintf("%q", secret)} {
			got := Clean(strings.Repeat("ü", offset/2) + strings.Repeat("x", offset%2) + repeated + "after")
			if strings.Contains(got, "tok") || strings.Contains(got, "of-20") || len(got) > textBytesMax+len("…") || !utf8.ValidString(got) {
				t.Fatalf("offset %d: got %q", offset, got)
			}
			if again := Clean(got); again != got {
				t.Fatalf("offset %d: want %q as it is, got %q", offset, got, again)
			}
		}
	}
	if got, want := Clean("\x1b]0;pwned\x07 \xff\r\nnext\u202e"), "�]0;pwned� �  next�"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}
