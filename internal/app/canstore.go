package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
)

// canStore refuses a folder in which nothing can be stored, before anything is run.
func canStore(dir string) error { return CanStore(dir, "choose another folder with --out") }

// CanStore refuses a folder in which nothing can be stored, with a hint. It makes no folder: perhaps nothing will be stored.
func CanStore(dir, hint string) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for {
		if _, err = os.Stat(at); !os.IsNotExist(err) || at == filepath.Dir(at) {
			break
		}
		at = filepath.Dir(at)
	}
	f, err := os.CreateTemp(at, ".sim-*")
	if err != nil {
		if of, ok := errors.AsType[*fs.PathError](err); ok { // of a name that nobody gave
			err = of.Err
		}
		return &trial.EnvironmentError{Err: fmt.Errorf("nothing can be written into %q: %w", at, err), Hint: hint}
	}
	_ = f.Close()
	return os.Remove(f.Name())
}
