package machine

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// SocketUser is the user who has the TCP socket between two IPv4 addresses of this machine. One
// that listens has no remote address: 0.0.0.0:0. A socket that its process has closed has no
// owner any more, and one that nobody has accepted has none yet.
func SocketUser(local, remote netip.AddrPort) (uid uint32, err error) {
	var inode uint32
	uid, inode, err = askKernel(local, remote)
	if err != nil { // some sandboxes lack this; where there are many sockets, the other way takes ms
		uid, inode, err = readSockets(local, remote)
	}
	if err == nil && inode == 0 {
		err = errNoOwner
	}
	return uid, err
}

var errNoOwner = errors.New("no process has this socket")

// askKernel asks for one socket by sock_diag(7). It also finds those of IPv6 that speak IPv4.
func askKernel(local, remote netip.AddrPort) (uid, inode uint32, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	// struct nlmsghdr and struct inet_diag_req_v2
	const head, size = unix.NLMSG_HDRLEN, unix.NLMSG_HDRLEN + 56
	ask := binary.NativeEndian.AppendUint32(nil, size)
	ask = binary.NativeEndian.AppendUint16(ask, unix.SOCK_DIAG_BY_FAMILY)
	ask = binary.NativeEndian.AppendUint16(ask, unix.NLM_F_REQUEST)
	ask = append(ask, make([]byte, 8)...)
	ask = append(ask, unix.AF_INET, unix.IPPROTO_TCP, 0, 0, 0xff, 0xff, 0xff, 0xff)
	ports := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, local.Port()), remote.Port())
	ask = append(ask, ports...)
	for _, a := range []netip.AddrPort{local, remote} {
		ask = append(append(ask, a.Addr().Unmap().AsSlice()...), make([]byte, 12)...)
	}
	ask = append(ask, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, 0, err
	}
	answer := make([]byte, 1024)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return 0, 0, err
	}
	// struct inet_diag_msg, or else an error. Instead of a connection that is no more, the
	// kernel finds who listens at its port.
	if m := answer[head:max(n, head)]; len(m) >= 72 && binary.NativeEndian.Uint16(answer[4:]) == unix.SOCK_DIAG_BY_FAMILY &&
		bytes.Equal(m[4:8], ports) {
		return binary.NativeEndian.Uint32(m[64:]), binary.NativeEndian.Uint32(m[68:]), nil
	}
	return 0, 0, errNoOwner
}

// readSockets looks through all sockets for one.
func readSockets(local, remote netip.AddrPort) (uid, inode uint32, err error) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			// sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode
			f := strings.Fields(line)
			if len(f) < 10 || !strings.HasSuffix(f[1], inProc(local)) || !strings.HasSuffix(f[2], inProc(remote)) {
				continue
			}
			u, err := strconv.ParseUint(f[7], 10, 32)
			i, err2 := strconv.ParseUint(f[9], 10, 32)
			return uint32(u), uint32(i), errors.Join(err, err2)
		}
	}
	return 0, 0, errNoOwner
}

// inProc is an address as /proc/net writes it; those of IPv6 that are of IPv4 end so.
func inProc(a netip.AddrPort) string {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], binary.BigEndian.Uint32(a.Addr().Unmap().AsSlice()))
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(b[:])), a.Port())
}
