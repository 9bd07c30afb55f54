package docstest_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// TestTranslations: each page of the guide has a translation that says of which version it is, and that shows the same
// commands and outputs, as long as it is not behind. Which are behind is said, and no fault (`make translations` prints it).
func TestTranslations(t *testing.T) {
	t.Parallel()
	pages, behind, faults, err := docstest.Translations(os.DirFS(docstest.Root(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
	for _, page := range behind {
		t.Log(page)
	}
	t.Logf("%d translated pages, %d behind their originals", len(pages), len(behind))
}

// TestTranslationsAreCompared: what the test of translations says of a repository.
func TestTranslationsAreCompared(t *testing.T) {
	t.Parallel()
	const original = "# A\n\nText.\n\n```sh\nmkdir a   # a folder\nsim run a # exit code 1: two holders\n```\n\n```yaml\nname: a # x\n```\n"
	version := docstest.Version([]byte(original))
	line := func(file, link string) string {
		return "本页译自英文版 [" + file + "](" + link + ")，原文版本 `" + version + "`。\n\n"
	}
	good := "# 甲\n\n" + line("docs/guide/a.md", "../../guide/a.md") +
		"文字。\n\n```sh\nmkdir a # 文件夹\nsim run a   # exit code 1：两个持有者\n```\n\n```yaml\nname: a # x\n```\n"
	older := func(than string) string {
		return "# 甲\n\n" + strings.Replace(line("docs/guide/a.md", "../../guide/a.md"), version, than, 1)
	}
	for name, c := range map[string]struct {
		old, replacement string // in the translation
		behind, fault    string
	}{
		"as it should be":        {},
		"an older version":       {old: version, replacement: "0123456789ab", behind: "0123456789ab of docs/guide/a.md, which is " + version},
		"no version":             {old: "，原文版本", fault: "below the title"},
		"another original":       {old: "../../guide/a.md", replacement: "../../guide/b.md", fault: "want docs/guide/a.md"},
		"an English link":        {old: "文字。", replacement: "[甲](../../guide/a.md#b)", fault: "a.md:5: a link to docs/guide/a.md, of which"},
		"links":                  {old: "文字。", replacement: "[甲](a.md#b) [乙](#b) [丙](https://a.example/README.md) [丁](../../guide/c.md)"},
		"another command":        {old: "sim run a", replacement: "sim run b", fault: "a.md:7: the block differs from that at docs/guide/a.md:5"},
		"another exit code":      {old: "code 1", replacement: "code 2", fault: "the block differs"},
		"another fence":          {old: "```sh", replacement: "```sh skip: long", fault: "the block differs"},
		"a translated scenario":  {old: "name: a # x", replacement: "name: a # 甲", fault: "the block differs"},
		"a block left out":       {old: "\n```yaml\nname: a # x\n```\n", fault: "lacks the block at docs/guide/a.md:10"},
		"a block more":           {old: "文字。", replacement: "```text\nx\n```", fault: "differs"},
		"a block more, at last":  {old: "name: a # x\n```\n", replacement: "name: a # x\n```\n\n```text\nx\n```\n", fault: "has no such block"},
		"a block that is open":   {old: "name: a # x\n```\n", replacement: "name: a # x\n", fault: "does not end"},
		"not translated yet":     {old: good, replacement: strings.TrimSuffix(older("000000000000"), "\n"), behind: "000000000000"},
		"behind, other commands": {old: good, replacement: older("0123456789ab"), behind: "0123456789ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := good
			if c.old != "" {
				text = strings.ReplaceAll(good, c.old, c.replacement)
			}
			got := repository(t, map[string]string{"docs/guide/a.md": original, "docs/zh/guide/a.md": text})
			if !strings.Contains(got.behind, c.behind) || (c.behind == "") != (got.behind == "") {
				t.Errorf("behind: %q, want %q", got.behind, c.behind)
			}
			if !strings.Contains(got.faults, c.fault) || (c.fault == "") != (got.faults == "") {
				t.Errorf("faults: %q, want %q", got.faults, c.fault)
			}
		})
	}
	if got := repository(t, map[string]string{"docs/zh/guide/a.md": good}); !strings.Contains(got.faults, "its original is not there") {
		t.Errorf("without an original: %q", got.faults)
	}
	if got := repository(t, map[string]string{"docs/guide/a.md": original}); got.faults !=
		"docs/guide/a.md has no translation: write docs/zh/guide/a.md, as CONTRIBUTING.md says" {
		t.Errorf("without a translation: %q", got.faults)
	}
}

type compared struct{ behind, faults string }

// repository compares the translations of a small repository, in which the pages that must be there are well.
func repository(t *testing.T, files map[string]string) compared {
	t.Helper()
	all := fstest.MapFS{}
	for original, place := range map[string]struct{ file, link string }{
		"README.md":                  {"README.zh.md", "README.md"},
		"docs/README.md":             {"docs/zh/README.md", "../README.md"},
		"docs/reference/glossary.md": {"docs/zh/reference/glossary.md", "../../reference/glossary.md"},
	} {
		text := []byte("# " + original + "\n")
		all[original] = &fstest.MapFile{Data: text}
		all[place.file] = &fstest.MapFile{Data: []byte("# 题\n\n本页译自英文版 [" + original + "](" + place.link + ")，原文版本 `" +
			docstest.Version(text) + "`。\n\n文字。\n")}
	}
	for file, text := range files {
		all[file] = &fstest.MapFile{Data: []byte(text)}
	}
	_, behind, faults, err := docstest.Translations(all)
	if err != nil {
		t.Fatal(err)
	}
	return compared{strings.Join(behind, "\n"), strings.Join(faults, "\n")}
}
