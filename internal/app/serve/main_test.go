package serve_test

import (
	"os"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func TestMain(m *testing.M) { os.Exit(tab.Tests(suite.Live(m)).Run()) }
