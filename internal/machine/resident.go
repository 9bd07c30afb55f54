package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Resident is how much memory this process has, and how much all processes below it have, in bytes; 0: this system does not tell. What
// several of them share counts for each.
func Resident() (own, children int64) {
	own = residentOf("self")
	for _, pid := range family(os.Getpid()) {
		children += residentOf(strconv.Itoa(pid))
	}
	return own, children
}

func residentOf(pid string) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%s/statm", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
