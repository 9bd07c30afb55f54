//go:build !js

package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

//go:embed frame.tmpl style.css script.js
var frame embed.FS

// assets are the style and the script of all pages, with the policy that
// allows just these two.
type assets struct {
	Style  template.CSS
	Script template.JS
	// Picture is the script of pictures.
	Picture template.JS
	// Policy is the content security policy: nothing from anywhere, and of
	// inline code only what has the hash of ours.
	Policy string
}

var theAssets = sync.OnceValue(func() assets {
	read := func(name string) string {
		data, err := frame.ReadFile(name)
		if err != nil {
			panic(err) // embedded: it is there or the program was not built
		}
		return string(data)
	}
	picturesOnly := PictureStyle()
	style, script, ofPictures := picturesOnly+read("style.css"), read("script.js"), picture.Script()
	return assets{
		Style: template.CSS(style), Script: template.JS(script), Picture: template.JS(ofPictures),
		Policy: fmt.Sprintf("default-src 'none'; style-src %s; script-src %s %s; img-src data:; base-uri 'none'; form-action 'none'",
			sourceHash(style), sourceHash(script), sourceHash(ofPictures)),
	}
})

// Stylesheet is the style of all pages, for pages that are served beside them.
func Stylesheet() string { return string(theAssets().Style) }

func sourceHash(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Templates are those of a package's pages. They may use what frame.tmpl defines.
type Templates func() *template.Template

// Parse parses all templates of a folder when the first page is written. They may use the functions, and those of frame.tmpl.
func Parse(folder fs.FS, functions template.FuncMap) Templates {
	return sync.OnceValue(func() *template.Template {
		return template.Must(withFrame().Funcs(functions).ParseFS(folder, "*.tmpl"))
	})
}

// Write writes a page: entirely or not at all.
func (t Templates) Write(w io.Writer, name string, data any) error {
	return execute(w, t(), name, data)
}

// Write writes a page with a template of its own.
func Write(w io.Writer, tmpl string, data any) error {
	t, err := withFrame().New("page").Parse(tmpl)
	if err != nil {
		return fmt.Errorf("failed to parse the template of a page: %w", err)
	}
	return execute(w, t, "page", data)
}

// withFrame has the templates that all pages may use, and the functions.
func withFrame() *template.Template {
	t := template.New("").Funcs(template.FuncMap{"assets": theAssets, "missing": MissingShards,
		"seconds": words.Seconds, "length": words.Length, "short": words.Duration,
		"count": words.Count[int], "grouped": words.Grouped[int], "grouped64": words.Grouped[uint64]})
	return template.Must(t.ParseFS(frame, "*.tmpl"))
}

// execute executes a page as a whole before it writes.
func execute(w io.Writer, t *template.Template, name string, data any) error {
	var buf bytes.Buffer
	if err := t.ExecuteTemplate(&buf, name, data); err != nil {
		return fmt.Errorf("failed to render %s: %w", name, err)
	}
	_, err := w.Write(plain.HTML(buf.Bytes()))
	return err
}

// brand begins a page: what it is of.
const brand = `<p class="brand">redlock-sim`

// WithWayBack has the head of a page of ours lead somewhere: to what it was reached from.
func WithWayBack(html []byte, link, words string) []byte {
	way := fmt.Sprintf(`<p class="brand"><a href="%s">%s</a> <span aria-hidden="true">/</span> redlock-sim`,
		template.HTMLEscapeString(link), template.HTMLEscapeString(words))
	return bytes.Replace(html, []byte(brand), []byte(way), 1)
}

// Policy is the content security policy of the pages, for the header under
// which they are served.
func Policy() string { return theAssets().Policy }
