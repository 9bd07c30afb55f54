package campaign

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// mostPacked bounds what is read from the database, in bytes before it was compressed.
const mostPacked = 64 << 20

// pack writes a value as compressed JSON.
func pack(v any) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err == nil {
		err = json.NewEncoder(z).Encode(v)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("failed to write what came of a range: %w", err)
	}
	return b.Bytes(), nil
}

// unpack reads what pack wrote.
func unpack(b []byte, v any) error {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(z, mostPacked)).Decode(v)
	}
	if err != nil {
		return fmt.Errorf("failed to read what came of a range: %w", err)
	}
	return nil
}
