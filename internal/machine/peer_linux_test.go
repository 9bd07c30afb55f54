package machine

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// whoIs is every way to tell the owner of a socket.
var whoIs = map[string]func(local, remote netip.AddrPort) (uid, inode uint32, err error){
	"sock_diag": askKernel, "/proc": readSockets,
}

func TestSocketUser(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ours, theirs := connect(t, l)
	at := func(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }
	local, remote, listener := at(theirs.LocalAddr()), at(theirs.RemoteAddr()), at(l.Addr())
	for name, ask := range whoIs {
		for _, ends := range [][2]netip.AddrPort{{local, remote}, {remote, local}, {listener, netip.MustParseAddrPort("0.0.0.0:0")}} {
			if uid, inode, err := ask(ends[0], ends[1]); err != nil || int(uid) != os.Getuid() || inode == 0 {
				t.Errorf("%s: %v: user %d, inode %d, %v", name, ends, uid, inode, err)
			}
		}
		// No connection comes from the port at which somebody listens.
		if _, _, err := ask(listener, listener); err == nil {
			t.Errorf("%s found a connection that is not there", name)
		}
	}
	_ = theirs.Close() // the kernel keeps what is left of it, which is nobody's
	for name, ask := range whoIs {
		if uid, inode, err := ask(local, remote); err == nil && inode != 0 {
			t.Errorf("%s: a closed socket belongs to user %d", name, uid)
		}
	}
	if _, err := SocketUser(local, remote); err == nil {
		t.Error("a closed socket has an owner")
	}
	_ = ours.Close()
}

// A socket of IPv6 may speak IPv4, as those of Java do.
func TestSocketUserOfASocketOfIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::]:0")
	if err != nil {
		suite.Lacks(t, "IPv6: "+err.Error())
	}
	defer func() { _ = l.Close() }()
	in, out := connect(t, l)
	defer func() { _, _ = in.Close(), out.Close() }()
	at := func(a net.Addr) netip.AddrPort {
		p := a.(*net.TCPAddr).AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	for name, ask := range whoIs {
		if uid, inode, err := ask(at(in.LocalAddr()), at(in.RemoteAddr())); err != nil || int(uid) != os.Getuid() || inode == 0 {
			t.Errorf("%s: user %d, inode %d, %v", name, uid, inode, err)
		}
	}
}

// connect opens a connection: its accepted end, and the other.
func connect(t testing.TB, l net.Listener) (in, out net.Conn) {
	t.Helper()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	out, err := net.Dial("tcp4", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(suite.Patience))
	if in, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// BenchmarkSocketUser measures what it costs to tell whose a connection is, with 4000 sockets open.
func BenchmarkSocketUser(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var local, remote netip.AddrPort
	for range 2000 {
		in, out := connect(b, l)
		defer func() { _, _ = in.Close(), out.Close() }()
		local, remote = out.LocalAddr().(*net.TCPAddr).AddrPort(), out.RemoteAddr().(*net.TCPAddr).AddrPort()
	}
	for name, ask := range whoIs {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := ask(local, remote); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
