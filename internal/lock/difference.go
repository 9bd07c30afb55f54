package lock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Difference is what is another one in the lock of one client than in that of all others: its service has not been updated yet, or
// has been before the others.
type Difference struct {
	Algorithm string        `yaml:"algorithm" doc:"another lock; of the rules then those are switched off that stand here, and no others"`
	Key       string        `yaml:"key" doc:"another key on the nodes" pattern:"^[A-Za-z0-9:._{}-]{1,100}$"`
	TTL       time.Duration `yaml:"ttl" doc:"another lease" min:"10ms" max:"1h"`
	// Program is another lock program, which a command line names.
	Program *Program
	// Mistakes are made on purpose.
	Mistakes Mistakes `yaml:"switches" doc:"safety rules of the lock that this client does not keep, beside those that none keeps"`
}

// Text says for a person what is different; another program says its own name.
func (d Difference) Text() string {
	var list []string
	if d.Algorithm != "" {
		list = append(list, d.Algorithm)
	}
	for _, rule := range d.Mistakes.Rules() {
		list = append(list, "without "+rule)
	}
	if d.TTL > 0 {
		list = append(list, fmt.Sprintf("ttl %v", d.TTL))
	}
	if d.Key != "" {
		list = append(list, "key "+d.Key)
	}
	if d.Program != nil && len(list) == 0 {
		return "another program"
	}
	return strings.Join(list, ", ")
}

// IsNone reports that nothing is different.
func (d Difference) IsNone() bool { return d == Difference{} }

// For is the lock as one client has it.
func (c Config) For(client string) Config {
	d := c.Clients[client]
	c.Clients = nil
	if d.Algorithm != "" {
		c.Algorithm, c.Mistakes = d.Algorithm, Mistakes{}
	}
	if d.Program != nil {
		c.Program = d.Program
	}
	c.Key, c.TTL, c.Mistakes = cmp.Or(d.Key, c.Key), cmp.Or(d.TTL, c.TTL), c.Mistakes.and(d.Mistakes)
	return c
}

// Differing are the clients whose lock differs from that of the others, sorted.
func (c Config) Differing() []string { return slices.Sorted(maps.Keys(c.Clients)) }

// All are the locks of a run: that of all clients of which nothing else is said, and those of the others.
func (c Config) All() []Config {
	list := []Config{c.For("")}
	for _, client := range c.Differing() {
		list = append(list, c.For(client))
	}
	return list
}

// Keys are the keys that clients have for the lock on the nodes, each once.
func (c Config) Keys() (list []string) {
	for _, one := range c.All() {
		if !slices.Contains(list, one.Key) {
			list = append(list, one.Key)
		}
	}
	return list
}

// LongestTTL is the longest lease of a client.
func (c Config) LongestTTL() time.Duration {
	longest := c.TTL
	for _, d := range c.Clients {
		longest = max(longest, d.TTL)
	}
	return longest
}

// WithPrefix puts a prefix before all keys.
func (c Config) WithPrefix(prefix string) Config {
	c.Key = prefix + c.Key
	c.Clients = maps.Clone(c.Clients)
	for client, d := range c.Clients {
		if d.Key != "" {
			d.Key = prefix + d.Key
			c.Clients[client] = d
		}
	}
	return c
}
