package trackrecord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Library is a lock program of adapters/, as libraries.json lists it.
type Library struct {
	Name string `json:"name"`
	// Adapter is the program's folder, Command what stands behind --lock.
	Adapter string `json:"adapter"`
	Command string `json:"command"`
	// Homepage is that of the library.
	Homepage string `json:"homepage"`
	// Brought is the folder below .cache/libraries that `make libraries` makes for it; empty: it is installed, or built.
	Brought string `json:"brought,omitempty"`
}

func ReadLibraries(file string) (list []Library, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, l := range list {
		if l.Name == "" || l.Adapter == "" || l.Command == "" || l.Homepage == "" || named(list[:i], l.Name) {
			return nil, fmt.Errorf("%s: %q lacks something, or is there twice", file, l.Name)
		}
	}
	return list, nil
}

func named(list []Library, name string) bool {
	return slices.ContainsFunc(list, func(l Library) bool { return l.Name == name })
}

// choose takes those with the names; without names all.
func choose(all []Library, names []string) (list []Library, err error) {
	for _, name := range names {
		if !named(all, name) {
			return nil, fmt.Errorf("no library %q in %s", name, LibrariesFile)
		}
	}
	for _, l := range all {
		if len(names) == 0 || slices.Contains(names, l.Name) {
			list = append(list, l)
		}
	}
	return list, nil
}
