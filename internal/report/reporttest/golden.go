package reporttest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/golden"
)

// inline is what all pages share: the style and the script are sources of their
// own, and their hashes follow from them.
var inline = regexp.MustCompile(`(?s)(<style>).*?(</style>)|(<script>).*?(</script>)|(sha256-).*?(=&#39;)`)

// SameAs compares got with a file under testdata.
func SameAs(t testing.TB, name string, got []byte) {
	t.Helper()
	if strings.HasSuffix(name, ".html") {
		got = inline.ReplaceAll(got, []byte("$1$3$5...$2$4$6"))
	}
	golden.Compare(t, filepath.Join("testdata", name), string(got))
}
