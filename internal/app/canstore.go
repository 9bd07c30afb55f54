package app

import (
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
)

// canStore refuses a folder in which nothing can be stored, before anything is run. It makes no folder: perhaps nothing will be stored.
func canStore(dir string) error {
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
		return &trial.EnvironmentError{Err: err, Hint: "choose another folder with --out"}
	}
	_ = f.Close()
	return os.Remove(f.Name())
}
