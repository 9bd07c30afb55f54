package play

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/docs"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
)

//go:embed page
var pages embed.FS

// scripts make up the module, in this order.
var scripts = []string{"parts.js", "engine.js", "address.js",
	"controls.js", "form.js", "figure.js", "told.js", "text.js", "panels.js", "play.js"}

func file(name string) string {
	data, err := pages.ReadFile("page/" + name)
	if err != nil {
		panic(err) // embedded: it is there or the program was not built
	}
	return string(data)
}

// Module is the playground as one JavaScript module. It exports mount; see page/play.js.
//
//	import { mount } from "./play.js";
//	mount(element, { wasm: "play.wasm.gz", yaml, seed: "42", variant: "fenced" });
//
// The page needs Stylesheet, and a content security policy with what Policy of a script from 'self' has.
func (b *Bundle) Module() ([]byte, error) {
	schema, err := compact(docs.ScenarioSchema)
	if err != nil {
		return nil, err
	}
	worker, err := json.Marshal(string(b.Exec) + "\n" + file("worker.js"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "const builtFrom = %q;\nconst schema = %s;\nconst workerCode = %s;\n", b.Stamp, schema, worker)
	for _, name := range scripts {
		out.WriteString(file(name))
	}
	out.WriteString("\nexport { mount };\n")
	return out.Bytes(), nil
}

// compact is JSON without spaces, which can stand in a page's script.
func compact(text string) ([]byte, error) {
	var short, escaped bytes.Buffer
	if err := json.Compact(&short, []byte(text)); err != nil {
		return nil, err
	}
	json.HTMLEscape(&escaped, short.Bytes())
	return escaped.Bytes(), nil
}

// Stylesheet is the style of the playground, with that of the reports before it.
func Stylesheet() string { return page.Stylesheet() + file("play.css") }

// Page is the playground as one HTML file, which opens from disk and needs nothing else.
func (b *Bundle) Page() (html []byte, policy string, err error) {
	module, err := b.Module()
	if err != nil {
		return nil, "", err
	}
	script := string(module) + "\nwindow.playground = mount(document.getElementById(\"play\"), " +
		"{ address: true, packed: document.getElementById(\"engine\").textContent });\n"
	style := Stylesheet()
	policy = fmt.Sprintf("default-src 'none'; style-src %s; "+
		"script-src %s %s 'wasm-unsafe-eval'; worker-src blob:; img-src data:; base-uri 'none'; form-action 'none'",
		sourceHash(style), sourceHash(own), sourceHash(script))
	picture, err := firstPicture()
	if err != nil {
		return nil, "", err
	}
	t, err := template.New("page").Parse(file("page.tmpl"))
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	err = t.Execute(&out, struct {
		Policy string
		First  *first
		Own    template.JS
		Style  template.CSS
		Packed template.HTML
		Script template.JS
	}{policy, picture, own, template.CSS(style), template.HTML(base64.StdEncoding.EncodeToString(b.Wasm)), template.JS(script)})
	return out.Bytes(), policy, err
}

func sourceHash(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Fragment is the part of an address behind # that has the playground show a scenario.
func Fragment(yaml string, seed uint64, variant string) (string, error) {
	var squeezed bytes.Buffer
	w, err := flate.NewWriter(&squeezed, flate.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(yaml))
	}
	if err == nil {
		err = w.Close()
	}
	q := url.Values{"yaml": {base64.RawURLEncoding.EncodeToString(squeezed.Bytes())}, "seed": {strconv.FormatUint(seed, 10)}}
	if variant != "" {
		q.Set("variant", variant)
	}
	return strings.ReplaceAll(q.Encode(), "+", "%20"), err
}
