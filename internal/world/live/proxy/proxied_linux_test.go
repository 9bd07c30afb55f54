package proxy

import (
	"context"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func TestALinkLetsNobodyElseIn(t *testing.T) {
	if os.Getuid() != 0 {
		suite.Lacks(t, "the rights of root, who alone can be somebody else")
	}
	refused := make(chan string, 10)
	p := New()
	p.Refused = func(l world.Link, why error) { refused <- l.From + l.To + ": " + why.Error() }
	defer p.Close()
	dialled := make(chan bool, 10)
	at, err := p.Open("c1", "A", func(ctx context.Context) (net.Conn, error) { dialled <- true; return says("A")(ctx) }, nil)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 3 {
		if err := unix.Setfsuid(65534); err != nil { // of this thread: the socket is nobody's
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", at)
		_ = unix.Setfsuid(0)
		if err != nil {
			t.Fatal(err)
		}
		if got := line(t, c); got != "" {
			t.Errorf("a stranger heard %q", got)
		}
		_ = c.Close()
	}
	got := suite.Receive(t, "a refusal", refused)
	if !strings.HasPrefix(got, "c1A: it is user 65534's") || len(refused) > 0 || len(dialled) > 0 {
		t.Errorf("refused %q and %d more; %d connections went on", got, len(refused), len(dialled))
	}
	if got := line(t, dial(t, at)); got != "A" {
		t.Errorf("root heard %q", got)
	}
}
