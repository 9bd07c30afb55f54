package scenario

import (
	"path/filepath"
	"reflect"
	"testing"
)

// TestEncodeIsReadBack writes every variant of every shipped scenario and wants
// to read the same setup from it.
func TestEncodeIsReadBack(t *testing.T) {
	files, _ := filepath.Glob("../../scenarios/*.yaml")
	if len(files) == 0 {
		t.Fatal("no scenarios")
	}
	for _, file := range files {
		s, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Variants {
			v := &s.Variants[i]
			if v.Setup.Faults.Mix != nil {
				continue // random faults have no explicit form
			}
			text, err := Encode([]string{"a comment"}, s.Head, &v.Setup, v.Expect)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Parse("back.yaml", []byte(text))
			if err != nil {
				t.Fatalf("%s, %s: %v\n%s", s.Name, v.Name, err, text)
			}
			if !reflect.DeepEqual(back.Head, s.Head) {
				t.Errorf("%s: read back %+v, want %+v", s.Name, back.Head, s.Head)
			}
			got, want := back.Variants[0].Setup, v.Setup
			for j := range got.Faults.List {
				got.Faults.List[j].path, want.Faults.List[j].path = "", ""
			}
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(back.Variants[0].Expect, v.Expect) {
				t.Errorf("%s, %s: read back\n%+v\nwant\n%+v\nfrom\n%s", s.Name, v.Name, got, want, text)
			}
		}
	}
}
