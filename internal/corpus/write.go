package corpus

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

//go:embed readme.md
var readme string

// License is that of every corpus.
const License = "MIT"

// Readme is the page that lies in a corpus.
func Readme(i *Index) string {
	leftOut := ""
	if o := i.LeftOut; o != nil {
		leftOut = fmt.Sprintf("Left out: %d of the source %s, because %s.", o.Histories, o.Source, o.Why)
	}
	server := "no real servers took part"
	if i.Server != "" {
		server = "real servers: " + i.Server
	}
	text := strings.NewReplacer("{count}", strconv.Itoa(i.Histories), "{sim}", i.Sim, "{seed}", strconv.FormatUint(i.Seed, 10),
		"{version}", strconv.Itoa(i.Version), "{server}", server, "{virtual}", strconv.Itoa(i.Sources[Virtual]),
		"{real}", strconv.Itoa(i.Sources[Real]), "{damaged}", strconv.Itoa(i.Sources[Damaged]),
		"{left_out}\n\n", leftOutParagraph(leftOut), "{license}", i.License).Replace(readme)
	return text
}

func leftOutParagraph(text string) string {
	if text == "" {
		return ""
	}
	return text + "\n\n"
}

// IndexText is the index of a corpus.
func IndexText(i *Index, entries []*Entry) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(i); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
