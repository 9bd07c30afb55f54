package words

import "strings"

// Titles are all words that can stand in one place of a scenario, in their order, each with
// one line for a person.
type Titles[W ~string] []struct {
	Word  W
	Title string
}

// Words lists the words.
func (t Titles[W]) Words() []W {
	list := make([]W, len(t))
	for i, known := range t {
		list[i] = known.Word
	}
	return list
}

// Title is the line of a word; empty: there is no such word.
func (t Titles[W]) Title(word W) string {
	for _, known := range t {
		if known.Word == word {
			return known.Title
		}
	}
	return ""
}

// Tag has the words for a setting, as the tags of a scenario do.
func (t Titles[W]) Tag() string {
	var list []string
	for _, known := range t {
		list = append(list, string(known.Word))
	}
	return `values:"` + strings.Join(list, ",") + `"`
}
