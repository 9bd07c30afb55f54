package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The table of scenarios in the README is what scripts/readme.sh prints.
func TestReadmeListsTheScenarios(t *testing.T) {
	cmd := exec.Command("sh", "scripts/readme.sh")
	cmd.Dir = "../.."
	table, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), string(table)) {
		t.Error("README.md: the table is out of date; paste what scripts/readme.sh prints")
	}
}
