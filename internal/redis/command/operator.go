package command

// Evicting are the commands by which an operator lets a server evict all keys that have a TTL. It does so before it carries the next one
// out.
func Evicting() [][]string {
	return [][]string{{"config", "set", "maxmemory-policy", "volatile-ttl"}, Limiting(true),
		Limiting(false), {"config", "set", "maxmemory-policy", "noeviction"}}
}

// Limiting is the command that lets a server refuse what takes memory, or no more.
func Limiting(full bool) []string {
	bytes := "0"
	if full {
		bytes = "1"
	}
	return []string{"config", "set", "maxmemory", bytes}
}
