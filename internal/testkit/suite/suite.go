package suite

import (
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that says which tests run: nothing (those of `make test`), "all", or a part such as
// "3/8": those of `make test`, and of the others the third of eight parts.
const Variable = "REDLOCK_SIM_TESTS"

// RunVariable is an environment variable that differs at each run of scripts/suite.
const RunVariable = "REDLOCK_SIM_TEST_RUN"

// What tests log for scripts/suite to read.
const (
	// LeftToAll begins the reason of a test that only `make test-all` runs.
	LeftToAll = "left to make test-all"
	// OfAll is what a test logs that runs because `make test-all`, or a part of it, is run.
	OfAll = "runs in make test-all"
	// LacksPrefix begins the reason of a test that this machine cannot run.
	LacksPrefix = "this machine lacks: "
)

// All says that the test belongs to `make test-all`: in `make test` it is skipped.
func All(t testing.TB) {
	t.Helper()
	if !chosen(t) {
		t.Skip(LeftToAll)
	}
	t.Log(OfAll)
}

// Amount is how much a test tries: `all` in `make test-all`, `few` in `make test`, or as much as RANDOM_HISTORIES says.
func Amount(t testing.TB, all, few int) int {
	t.Helper()
	if s := os.Getenv("RANDOM_HISTORIES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if !chosen(t) {
		return few
	}
	t.Log(OfAll)
	return all
}

// chosen says whether what belongs to `make test-all` alone is run of this test.
func chosen(t testing.TB) bool {
	t.Helper()
	part, parts, err := Part(os.Getenv(Variable))
	if err != nil {
		t.Fatal(err)
	}
	return InPart(t.Name(), part, parts)
}

// Part reads the value of Variable: "" is part 0 of 0, "all" is part 1 of 1.
func Part(value string) (part, parts int, err error) {
	switch value {
	case "":
		return 0, 0, nil
	case "all":
		return 1, 1, nil
	}
	n, err := fmt.Sscanf(value, "%d/%d", &part, &parts)
	if n != 2 || err != nil || part < 1 || part > parts || fmt.Sprintf("%d/%d", part, parts) != value {
		return 0, 0, fmt.Errorf("%s is %q: want all, or a part such as 3/8", Variable, value)
	}
	return part, parts, nil
}

// InPart says whether something with this name belongs to one of so many parts.
func InPart(name string, part, parts int) bool {
	if parts == 0 {
		return false
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return int64(h.Sum32())%int64(parts) == int64(part-1)
}
