package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// ProjectFile is the file with a project's defaults, in the folder in which sim runs.
const ProjectFile = "sim.yaml"

// Project is what a project's file sets in the place of sim's own defaults. Anybody may
// have written it: it reaches no server and no folder outside, and its lock is started only
// with a word from the user.
type Project struct {
	Scenarios []string `yaml:"scenarios" doc:"files, folders and shipped scenarios that sim run runs when none is named" max:"200" most:"100"`
	Lock      string   `yaml:"lock" doc:"the command of your lock program, as for --lock; it is started only with --allow-programs" max:"4000"`
	Nodes     string   `yaml:"nodes" doc:"where nodes come from in real time; servers that exist already are named by the flag alone" values:"auto,process,docker" default:"auto"`
	Out       string   `yaml:"out" doc:"the folder in which runs are stored" max:"200" default:"reports"`
	Jobs      int      `yaml:"jobs" doc:"how many scenarios to run at once" min:"1" max:"256"`
	Tries     int      `yaml:"tries" doc:"how often to try a variant in real time until every violation that it expects has shown" min:"1" max:"100"`
}

// StandardProject holds sim's own defaults. Zero numbers: they depend on what is run.
func StandardProject() Project {
	var p Project
	yamlform.SetDefaults(reflect.ValueOf(&p).Elem())
	return p
}

// LoadProject reads the project's file of this folder. Where there is none, sim's own defaults
// hold.
func LoadProject() (Project, error) {
	standard := StandardProject()
	here, err := os.OpenRoot(".") // it follows no link that leads out of this folder
	if err != nil {
		return standard, err
	}
	defer func() { _ = here.Close() }()
	info, err := here.Stat(ProjectFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return standard, nil
	case err != nil:
		return standard, fmt.Errorf("%s cannot be read, or is a link that leads out of this folder: %w", ProjectFile, err)
	case !info.Mode().IsRegular():
		return standard, fmt.Errorf("%s is no file", ProjectFile)
	}
	f, err := here.Open(ProjectFile)
	if err != nil {
		return standard, err
	}
	defer func() { _ = f.Close() }()
	text, err := readAll(f)
	if err != nil {
		return standard, fmt.Errorf("failed to read %s: %w", ProjectFile, err)
	}
	p, err := ParseProject(ProjectFile, text)
	if err != nil {
		return standard, err
	}
	if _, err := here.Stat(p.Out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return standard, words.WithHint(fmt.Errorf("%s: out: %s leads out of this folder", ProjectFile, p.Out), "--out stores runs anywhere")
	}
	return p, nil
}

// ParseProject reads a project's file. What is wrong with it comes back as Problems.
func ParseProject(file string, text []byte) (Project, error) {
	d, p := &yamlform.Decoder{File: file}, StandardProject()
	root, err := d.Document(text)
	if root == nil {
		return p, err
	}
	d.Structure(root, reflect.ValueOf(&p).Elem(), "")
	if !filepath.IsLocal(p.Out) {
		d.ProblemAt("out", "want a folder inside this one, got %q", yamlform.Clip(p.Out)).Hint = "--out stores runs anywhere"
	}
	if problems := d.Problems(); len(problems) > 0 {
		return StandardProject(), problems.Sorted()
	}
	return p, nil
}
