package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find lists the scenario files that the arguments name: a file stands for
// itself, a folder for every .yaml and .yml file in it and below it.
func Find(args []string) ([]string, error) {
	var files []string
	var errs []error
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			errs = append(errs, notFound(arg, err))
		case !info.IsDir():
			files = append(files, arg)
		default:
			inside, err := findIn(arg)
			errs = append(errs, err)
			files = append(files, inside...)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return dedupe(files), nil
}

func findIn(folder string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ext := filepath.Ext(path); !entry.IsDir() && (ext == ".yaml" || ext == ".yml") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("failed to look for scenarios: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no scenarios (*.yaml) in %q", folder)
	}
	slices.Sort(files)
	return files, nil
}

// notFound adds the nearest file name to the error.
func notFound(path string, err error) error {
	folder := filepath.Dir(path)
	files, _ := findIn(folder)
	p := &Problem{}
	p.suggest(filepath.Base(path), namesOf(files, filepath.Base))
	if p.Hint == "" {
		return fmt.Errorf("failed to find the scenario: %w", err)
	}
	guess := strings.TrimSuffix(strings.TrimPrefix(p.Hint, `did you mean "`), `"?`)
	return fmt.Errorf("failed to find the scenario: %w\nhint: did you mean %s?", err, filepath.Join(folder, guess))
}

func dedupe(files []string) []string {
	seen := make(map[string]bool)
	return slices.DeleteFunc(files, func(f string) bool {
		abs, err := filepath.Abs(f)
		if err != nil {
			abs = f
		}
		twice := seen[abs]
		seen[abs] = true
		return twice
	})
}
