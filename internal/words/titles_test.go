package words

import (
	"slices"
	"testing"
)

func TestTitles(t *testing.T) {
	type colour string
	list := Titles[colour]{{"red", "Stop"}, {"green", "Go"}}
	if got := list.Words(); !slices.Equal(got, []colour{"red", "green"}) {
		t.Errorf("words %v", got)
	}
	if list.Title("green") != "Go" || list.Title("blue") != "" {
		t.Errorf("titles %q, %q", list.Title("green"), list.Title("blue"))
	}
	if want := `values:"red,green"`; list.Tag() != want {
		t.Errorf("tag %s, want %s", list.Tag(), want)
	}
}
