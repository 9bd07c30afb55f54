package machine

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// mostCrowded bounds what Crowding says.
const mostCrowded = 6

// Crowding is how many tasks there were for each processor of this machine in the last minute, from 1 to 6; 1, too, where nothing tells.
func Crowding() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	return crowding(string(text), runtime.NumCPU())
}

func crowding(loadavg string, processors int) float64 {
	first, _, _ := strings.Cut(loadavg, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 1
	}
	return min(max(load/float64(processors), 1), mostCrowded)
}
