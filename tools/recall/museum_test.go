package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const root = "../.."

// TestMuseum: the list can be read, what it names is there, and the page has what was measured.
func TestMuseum(t *testing.T) {
	museum, err := readMuseum(root)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readResults(root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range museum {
		p := &museum[i]
		file := filepath.Join(root, folder, p.Program)
		switch p.Installer {
		case "go":
			file = filepath.Join(root, "adapters", p.Program, "main.go")
		case "maven":
			file = filepath.Join(root, "adapters", "java", p.Program+".java")
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: %v", p.ID, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != page(museum, r) {
		t.Errorf("%s is not what was measured: go run ./recall -pages", pageFile)
	}
}

// TestBothAreMeasured: what fails with the broken version does not keep the mended one from its trial.
func TestBothAreMeasured(t *testing.T) {
	p := &Piece{ID: "js-refresh-revives", Broken: "1.0.0", Mended: "1.0.1", Installer: "none"}
	err := patience{}.measure(t.Context(), t.TempDir(), "sim", p, make(results))
	for _, which := range []string{broken, mended} {
		if err == nil || !strings.Contains(err.Error(), p.ID+", "+which) {
			t.Errorf("nobody tried the %s version: %v", which, err)
		}
	}
}

func TestShown(t *testing.T) {
	p := Piece{Shows: []string{"conform/extend", "audit/exclusive"}}
	v := &Version{Accused: []string{"audit/exclusive/gc-pause", "audit/exclusively", "conform/extend", "search/exclusive-lease"}}
	if got, want := p.shown(v), []string{"audit/exclusive/gc-pause", "conform/extend"}; !reflect.DeepEqual(got, want) {
		t.Errorf("it shows %q, not %q", got, want)
	}
	if got := p.shown(nil); got != nil {
		t.Errorf("what was not measured shows %q", got)
	}
}

// TestAccusedOf: what a search found counts if it is confirmed by what the nodes saw.
func TestAccusedOf(t *testing.T) {
	text := "search   default   100 runs in 10.0 s\n" +
		"  found      out/search-exclusive-lease-0.yaml   4 of 6 faults, fails with 20 of 20 other seeds\n" +
		"  found      out/search-exclusive-lease-3.yaml   1 of 6 faults, fails with 2 of 20 other seeds\n" +
		"  found      out/search-told-when-lost-7.yaml   2 of 2 faults, fails with 3 of 20 other seeds, by the program's word alone\n" +
		"  nothing found   owner-release: 0 in 212 runs\n"
	if got, want := accusedOf([]byte(text)), []string{"search/exclusive-lease"}; !reflect.DeepEqual(got, want) {
		t.Errorf("it accuses of %q, not %q", got, want)
	}
}
