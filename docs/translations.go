package docs

import "strings"

const (
	// chineseReadme is the translation of README.md: it stands beside it, where who opens the repository sees it.
	chineseReadme = "README.zh.md"
	// chinese is the folder with the translations of pages below docs/, each at the same path.
	chinese = "docs/zh/"
)

// Translation is the file in which the translation of a page of the repository is, if it has one.
func Translation(page string) string {
	if page == "README.md" {
		return chineseReadme
	}
	return chinese + strings.TrimPrefix(page, "docs/")
}

// Original is the page that a file translates; false: the file is no translation.
func Original(file string) (page string, ok bool) {
	if file == chineseReadme {
		return "README.md", true
	}
	below, ok := strings.CutPrefix(file, chinese)
	return "docs/" + below, ok && strings.HasSuffix(file, ".md")
}
