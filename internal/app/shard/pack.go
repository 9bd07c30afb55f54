package shard

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// MostUnpacked bounds what is unpacked of all shards together, in bytes.
const MostUnpacked = 16 << 30

// Pack writes a folder as one text, for Unpack.
func Pack(dir string) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("failed to pack %s: %w", dir, err)
	}
	t := tar.NewWriter(z)
	if err := errors.Join(t.AddFS(os.DirFS(dir)), t.Close(), z.Close()); err != nil {
		return nil, fmt.Errorf("failed to pack %s: %w", dir, err)
	}
	return b.Bytes(), nil
}

// Unpack lays out what Pack wrote of one shard: a folder in dir that is not there yet. Nothing is written outside it, and nothing but
// files and folders. Left is how many bytes may still be written.
func Unpack(packed []byte, dir string, left *int64) error {
	fail := func(err error) error { return fmt.Errorf("failed to unpack a shard: %w", err) }
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = root.Close() }()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fail(err)
	}
	own := ""
	t := tar.NewReader(z)
	for files := 0; ; files++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fail(err)
		case files == mostFiles:
			return fail(fmt.Errorf("it has more than %d files", mostFiles))
		}
		name := filepath.FromSlash(path.Clean(h.Name))
		first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if own == "" {
			if _, err := root.Lstat(first); err == nil {
				return fail(fmt.Errorf("%s is there already", first))
			}
			own = first
		}
		const block = 512 // of an archive: a small file, or an empty one, counts as one
		if *left -= h.Size + block; first != own || h.Size < 0 || *left < 0 {
			return fail(errors.New("it is more than one folder, or too large"))
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			err = errors.Join(root.MkdirAll(filepath.Dir(name), 0o755), copyInto(root, name, t))
		}
		if err != nil {
			return fail(err)
		}
	}
}

func copyInto(root *os.Root, name string, from io.Reader) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
