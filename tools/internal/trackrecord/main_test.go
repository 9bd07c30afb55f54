package trackrecord

import (
	"os"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
)

func TestMain(m *testing.M) { os.Exit(tab.Tests(m).Run()) }
