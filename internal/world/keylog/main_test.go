package keylog

import (
	"os"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func TestMain(m *testing.M) { os.Exit(suite.Live(m).Run()) }
