package client_test

import (
	"os"
	"strings"
	"testing"
)

// TestGuideShowsTheExamples has every block of code in the guide stand in an example, which runs.
func TestGuideShowsTheExamples(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	examples := strings.ReplaceAll(read("example_test.go"), "\n\t", "\n")
	blocks := strings.Split(read("../docs/client.md"), "```go\n")[1:]
	if len(blocks) < 6 {
		t.Errorf("%d blocks of code, want more", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(examples, "\n"+code) {
			t.Errorf("no example has this:\n%s", code)
		}
	}
}
