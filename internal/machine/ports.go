package machine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports for servers come from below the range that the kernel gives to outgoing
// connections (from 32768 on, on Linux): there, the connection of some client
// could take a port between our look and the server's bind, and a connection to
// a port where nobody listens yet could even meet itself.
const (
	lowestPort  = 12000
	highestPort = 32000
)

// handedOut are the ports given to servers of this program.
var handedOut struct {
	sync.Mutex
	ports map[int]bool
}

// OnFreePort starts something on a free port. Another program may take the port
// between our look and the server's; then the next one is tried.
func OnFreePort(start func(port int) error) error {
	return OnFreePorts(1, func(ports []int) error { return start(ports[0]) })
}

// OnFreePorts is OnFreePort for something that takes several.
func OnFreePorts(n int, start func(ports []int) error) error {
	for try := 1; ; try++ {
		var err error
		ports := make([]int, n)
		for i := range ports {
			if ports[i], err = freePort(); err != nil {
				return fmt.Errorf("failed to find a free port: %w", err)
			}
		}
		if err = start(ports); err == nil {
			return nil
		}
		for _, p := range ports {
			ReturnPort(p)
		}
		if !errors.Is(err, ErrPortTaken) || try == 20 {
			return err
		}
	}
}

// ErrPortTaken says that somebody else has taken the port.
var ErrPortTaken = errors.New("the port was taken meanwhile")

// freePort finds a port where nobody listens and that nobody here was given.
func freePort() (int, error) {
	handedOut.Lock()
	defer handedOut.Unlock()
	if handedOut.ports == nil {
		handedOut.ports = make(map[int]bool)
	}
	for range 1000 {
		port := lowestPort + rand.N(highestPort-lowestPort)
		if handedOut.ports[port] {
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		handedOut.ports[port] = true
		return port, l.Close()
	}
	return 0, errors.New("no free port found on 127.0.0.1")
}

// ReturnPort lets a port be handed out again.
func ReturnPort(port int) {
	handedOut.Lock()
	defer handedOut.Unlock()
	delete(handedOut.ports, port)
}
