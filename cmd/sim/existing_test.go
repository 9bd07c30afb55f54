package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// existing VAR ARGS... starts a redis-server that is none of sim's, on a port of
// its own, with TLS where ARGS is "tls". Its address goes to $VAR, its process to
// $VAR_PID, its port to $VAR_PORT.
func existing(ts *testscript.TestScript, _ bool, args []string) {
	name, args := args[0], args[1:]
	var port string
	ts.Check(machine.OnFreePort(func(free int) error {
		port = strconv.Itoa(free)
		if slices.Contains(args, "--cluster-enabled") { // the bus of a cluster is 10,000 above, where outgoing connections have their ports
			args = append(args, "--cluster-port", strconv.Itoa(free-10_000))
		}
		ts.Defer(func() { machine.ReturnPort(free) })
		return nil
	}))
	options := []string{"--bind", "127.0.0.1", "--save", "", "--dir", ts.MkAbs("."), "--port"}
	if !slices.Contains(args, "tls") {
		options = append(options, port)
	} else {
		options = append(options, "0", "--tls-port", port, "--tls-auth-clients", "no",
			"--tls-cert-file", ts.MkAbs("cert.pem"), "--tls-key-file", ts.MkAbs("key.pem"))
		args = nil
	}
	cmd := exec.Command("redis-server", append(options, args...)...)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = suite.Ends(ts, cmd)
	})
	suite.Eventually(ts, "a server on port "+port, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	ts.Setenv(name, "127.0.0.1:"+port)
	ts.Setenv(name+"_PORT", port)
	ts.Setenv(name+"_PID", strconv.Itoa(cmd.Process.Pid))
}

// certificate writes a certificate for 127.0.0.1 to cert.pem, its key to
// key.pem.
func certificate(ts *testscript.TestScript, _ bool, _ []string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	private, err := x509.MarshalECPrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("key.pem"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))
}

// expand FILE replaces $VAR in a file.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(os.Expand(ts.ReadFile(file), ts.Getenv)), 0o644))
	}
}
