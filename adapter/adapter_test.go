package adapter

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestAddr(t *testing.T) {
	if got := (Node{Host: "::1", Port: 6379}).Addr(); got != "[::1]:6379" {
		t.Errorf("got %s", got)
	}
}

func TestTLSConfig(t *testing.T) {
	if c, err := (Node{}).TLSConfig(); c != nil || err != nil {
		t.Errorf("a node that speaks plainly: %v, %v", c, err)
	}
	if c, err := (Node{TLS: &TLS{ServerName: "redis"}}).TLSConfig(); err != nil || c.ServerName != "redis" || c.RootCAs != nil {
		t.Errorf("the machine's certificates: %v, %v", c, err)
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	node := Node{TLS: &TLS{ServerName: "redis", CA: ca}}
	if _, err := node.TLSConfig(); err == nil {
		t.Error("the file is missing, but there is no error")
	}
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	for text, good := range map[string]bool{
		"no certificate": false,
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})): true,
	} {
		if err := os.WriteFile(ca, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := node.TLSConfig(); (err == nil) != good || good && c.RootCAs == nil {
			t.Errorf("%.20q: %v, %v", text, c, err)
		}
	}
}

func TestModuleVersion(t *testing.T) {
	if got := ModuleVersion("example.com/none"); got != "" {
		t.Errorf("a module that is not there: %s", got)
	}
}
