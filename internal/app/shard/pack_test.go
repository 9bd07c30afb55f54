package shard

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// room is enough for a small shard.
func room() *int64 {
	n := int64(1 << 20)
	return &n
}

func TestPackAndUnpack(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	for name, text := range map[string]string{"shards/a/shard.json": "{}", "shards/a/found/x.yaml": strings.Repeat("x", 100_000)} {
		file := filepath.Join(from, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := Pack(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := Unpack(packed, to, room()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(to, "shards", "a", "found", "x.yaml"))
	if err != nil || len(got) != 100_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := Unpack(packed, to, room()); err == nil {
		t.Error("files that are there are written over")
	}
	little := int64(50_000)
	if err := Unpack(packed, t.TempDir(), &little); err == nil {
		t.Error("more is unpacked than there is room for")
	}
	if err := Unpack([]byte("no archive"), t.TempDir(), room()); err == nil {
		t.Error("what is no archive is unpacked")
	}
	if err := Unpack(packed[:len(packed)/2], t.TempDir(), room()); err == nil {
		t.Error("half an archive is unpacked")
	}
}

// An archive from a database writes nothing outside its folder, and makes no links.
func TestUnpackStaysInside(t *testing.T) {
	for name, h := range map[string]tar.Header{
		"above":    {Name: "../out.txt", Typeflag: tar.TypeReg, Size: 1},
		"absolute": {Name: "/out.txt", Typeflag: tar.TypeReg, Size: 1},
		"sparse":   {Name: "a/x", Typeflag: tar.TypeReg, Size: 1 << 40},
		"deep":     {Name: "a/../../out.txt", Typeflag: tar.TypeReg, Size: 1},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		_ = w.WriteHeader(&h)
		_, _ = w.Write([]byte("x"))
		_ = w.Close()
		_ = z.Close()
		outer := t.TempDir()
		if err := Unpack(b.Bytes(), filepath.Join(outer, "in"), room()); err == nil {
			t.Errorf("%s: it is not refused", name)
		}
		if _, err := os.Lstat(filepath.Join(outer, "out.txt")); err == nil {
			t.Errorf("%s: it was written", name)
		}
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	_ = w.WriteHeader(&tar.Header{Name: "link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink})
	_ = w.Close()
	_ = z.Close()
	in := t.TempDir()
	if err := Unpack(b.Bytes(), in, room()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(in, "link")); err == nil {
		t.Error("a link was made")
	}
}
