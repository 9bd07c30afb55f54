package command

import (
	"errors"
	"strconv"
	"strings"
)

// Slots is how many hash slots a Redis Cluster has.
const Slots = 16384

// Slot is the hash slot of a key: that of what stands in its first braces, if something does.
func Slot(key string) int {
	if _, behind, tagged := strings.Cut(key, "{"); tagged {
		if tag, _, closed := strings.Cut(behind, "}"); closed && tag != "" {
			key = tag
		}
	}
	var crc uint16 // CRC-16/XMODEM
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % Slots
}

// ParseSlots reads slots as nodes of a cluster tell of them: one, as 93, or from one to another, as 0-5460.
func ParseSlots(text string) (first, last int, err error) {
	from, to, several := strings.Cut(text, "-")
	if !several {
		to = from
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	return first, last, errors.Join(err1, err2)
}
