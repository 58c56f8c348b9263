package zlinknats_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsAnExampleThatRuns compares the program in the README with the example of the node runtime.
func TestReadmeShowsAnExampleThatRuns(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	example := strings.ReplaceAll(read("client/node/example_test.go"), "\n\t", "\n")
	blocks := strings.Split(read("README.md"), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("no program")
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(example, "\n"+code) {
			t.Errorf("the example does not have this:\n%s", code)
		}
	}
}
