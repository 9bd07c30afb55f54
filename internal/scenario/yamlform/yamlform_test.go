package yamlform_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

// kettle is a struct of which nothing else in this project knows.
type kettle struct {
	Litres float64       `yaml:"litres" required:"true" min:"0.1" max:"5"`
	Boils  time.Duration `yaml:"boils" default:"3m" max:"1h"`
	Kind   string        `yaml:"kind" default:"steel" values:"steel,glass"`
	Marks  []int         `yaml:"marks" most:"2" min:"1"`
}

func decode(text string) (kettle, yamlform.Problems) {
	var k kettle
	d := &yamlform.Decoder{File: "kettle.yaml"}
	yamlform.SetDefaults(reflect.ValueOf(&k).Elem())
	root, err := d.Document([]byte(text))
	if err != nil {
		return k, yamlform.Problems{{Message: err.Error()}}
	}
	d.Structure(root, reflect.ValueOf(&k).Elem(), "")
	return k, d.Problems().Sorted()
}

func TestDecode(t *testing.T) {
	got, problems := decode("litres: 1.5\nmarks: [1, 2]\n")
	want := kettle{1.5, 3 * time.Minute, "steel", []int{1, 2}}
	if len(problems) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v: want %+v", got, problems, want)
	}
}

// All problems come at once, each with its place and with what would do.
func TestProblems(t *testing.T) {
	// That litres are missing is not said: spout may stand for them.
	_, problems := decode("boils: 2h\nkind: glas\nmarks: [0, 1, 2]\nspout: 1\n")
	want := []string{
		"kettle.yaml:1:8: boils: want at most 1h, got 2h",
		"kettle.yaml:2:7: kind: \"glas\" is not one of the values allowed here\n" +
			"    allowed: steel, glass\n    hint: did you mean \"glass\"?",
		"kettle.yaml:3:8: marks: want at most 2 entries, got 3",
		"kettle.yaml:3:9: marks[0]: want at least 1, got 0",
		"kettle.yaml:4:1: spout: unknown key \"spout\"\n    allowed: litres, boils, kind, marks",
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLimitsHoldWhatNoFileGave(t *testing.T) {
	var d yamlform.Decoder
	d.Limits(reflect.ValueOf(&kettle{Litres: 6, Kind: "steel"}).Elem(), "kettle")
	if got := d.Problems().Error(); got != "kettle.litres: want at most 5, got 6" {
		t.Errorf("%q", got)
	}
}

func TestEncodeIsReadBack(t *testing.T) {
	var standard kettle
	yamlform.SetDefaults(reflect.ValueOf(&standard).Elem())
	want := kettle{2, time.Minute, "glass", []int{3}}
	text, differs := yamlform.Encode(reflect.ValueOf(want), reflect.ValueOf(standard))
	if got, problems := decode(text); !differs || len(problems) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, %v: want %+v", text, got, problems, want)
	}
}

func TestSetAt(t *testing.T) {
	text := "# ours\nlitres: 1.5 # enough\nkind: glass\n"
	var d yamlform.Decoder
	root, err := d.Document([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out, err := yamlform.SetAt([]byte(text), root, root, []any{"litres"}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: "2"})
	if want := strings.Replace(text, "1.5", "2", 1); err != nil || string(out) != want {
		t.Errorf("%q, %v: want %q", out, err, want)
	}
}
