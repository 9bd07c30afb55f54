package trackrecord

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestClaims: what libraries promise is said of each, and stands in the record.
func TestClaims(t *testing.T) {
	t.Parallel()
	root, all := libraries(t)
	list, err := ReadPromises(root, all)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d entries: %v", len(list), err)
	}
	r, err := ReadRecord(root, all, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := docstest.Read(t, markdownPage)
	for i := range r.Locks {
		for _, p := range r.Locks[i].Promised() {
			if want := text(p.Says) + "\u201d ([documentation](" + p.At + ")"; !strings.Contains(page, want) {
				t.Errorf("%s does not have what %s promises: make track-record-pages: %s", markdownPage, r.Locks[i].Name, p.Says)
			}
		}
	}
}

// TestQuotations: each quotation stands where the entry says, as far as this machine has a copy of it.
func TestQuotations(t *testing.T) {
	t.Parallel()
	root, all := libraries(t)
	list, err := ReadPromises(root, all)
	if err != nil {
		t.Fatal(err)
	}
	out, err := suite.Output(t, exec.Command("go", "env", "GOMODCACHE"))
	if err != nil {
		t.Fatal(err)
	}
	modules, compared, missing := strings.TrimSpace(string(out)), 0, map[string]bool{}
	for _, p := range list {
		for _, c := range p.Claims {
			file := filepath.Join(root, c.Copy)
			if module, is := strings.CutPrefix(c.Copy, "mod/"); is {
				file = filepath.Join(modules, module)
			} else if filepath.IsAbs(c.Copy) {
				file = c.Copy
			}
			text, err := os.ReadFile(file)
			if c.Copy == "" {
				continue
			}
			if err != nil {
				missing[c.Copy] = true
			} else if compared++; !strings.Contains(unwrapped(string(text)), unwrapped(c.Says)) {
				t.Errorf("%s: %s does not say %q", p.Locks[0], c.Copy, c.Says)
			}
		}
	}
	t.Logf("%d quotations compared", compared)
	if len(missing) > 0 {
		suite.Lacks(t, "copies of some documentation that is quoted (make libraries brings most of them)")
	}
}

// unwrapped is a text without line breaks, and without the marks of comments.
func unwrapped(text string) string {
	var list []string
	for _, word := range strings.Fields(text) {
		if word != "//" && word != "///" && word != "*" && word != "#" {
			list = append(list, word)
		}
	}
	return strings.ReplaceAll(strings.Join(list, " "), "&rsquo;", "'")
}

func TestAgreement(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		claim Claim
		want  map[card.State]Agreement
	}{
		{Claim{Guarantees: []string{"exclusive"}}, map[card.State]Agreement{card.Kept: Agrees, card.Broken: Contradicts,
			card.ByDesign: Contradicts, card.Unknown: Undecided, card.NotApplicable: NotTried}},
		{Claim{GivesUp: []string{"exclusive"}}, map[card.State]Agreement{card.Kept: Contradicts, card.Broken: Agrees, card.ByDesign: Agrees,
			card.Unknown: Undecided, card.NotApplicable: NotTried}},
		{Claim{Guarantees: []string{"exclusive"}, Needs: "an option"}, map[card.State]Agreement{card.Kept: NotTried, card.Broken: NotTried}},
	} {
		for state, want := range test.want {
			if got := test.claim.agreement(state); got != want {
				t.Errorf("%+v, %s: %s, want %s", test.claim, state, got, want)
			}
		}
	}
}

// TestBadClaims: the format is strict.
func TestBadClaims(t *testing.T) {
	t.Parallel()
	all := []Library{{Name: "alpha"}, {Name: "beta"}}
	const good = `- locks: [alpha]
  version: "1"
  claims:
    - {says: It locks., at: https://example.com/readme, guarantees: [exclusive]}
- {locks: [beta], none: It has no documentation.}
`
	read := func(text string) error {
		root := t.TempDir()
		write(t, filepath.Join(root, ClaimsFile), text)
		_, err := ReadPromises(root, all)
		return err
	}
	if err := read(good); err != nil {
		t.Error(err)
	}
	for name, c := range map[string][3]string{
		"unknown lock":      {"[alpha]", "[gamma]", "gamma"},
		"twice":             {"[beta]", "[alpha]", "twice"},
		"one is left out":   {"- {locks: [beta], none: It has no documentation.}\n", "", "nothing is said of beta"},
		"nothing said":      {", none: It has no documentation.", "", "want claims"},
		"no version":        {"  version: \"1\"\n", "", "version is missing"},
		"no address":        {"https://example.com/readme", "README.md", "want an address"},
		"no quotation":      {"says: It locks., ", "", "want a quotation"},
		"too long":          {"It locks.", strings.Repeat("It locks. ", 30), "want a quotation"},
		"unknown guarantee": {"[exclusive]", "[excluding]", "no guarantee"},
		"by hand":           {"guarantees:", "agrees: true, guarantees:", "agrees"},
	} {
		if err := read(strings.Replace(good, c[0], c[1], 1)); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v; want %q", name, err, c[2])
		}
	}
}
